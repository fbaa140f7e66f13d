//go:build linux

package cuda

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
)

// tensorMap is the driver's description of a matrix at an address.
type tensorMap struct {
	at    driver.Address
	words driver.TensorMap
}

// tensorMap describes a matrix to a kernel. The driver is asked again if the address of the matrix has changed.
func (s *session) tensorMap(step *lower.Step, a *lower.Arg) (driver.TensorMap, error) {
	at := s.place(a.Place)
	if m, ok := s.maps[a]; ok && m.at == at {
		return m.words, nil
	}
	words, r := s.device.API.EncodeTensorMap(at, driver.Tiled(a.Tiled))
	if r != driver.Success {
		return words, s.device.orLost(driver.Check(s.device.API, r, "cuTensorMapEncodeTiled", "%s: %v: a matrix %v", step.Scope, step.Op, a.Tiled))
	}
	if s.maps == nil {
		s.maps = map[*lower.Arg]tensorMap{}
	}
	s.maps[a] = tensorMap{at, words}
	return words, nil
}

// describesMatrices reports whether the driver has the call for that, as from CUDA 12.0 on. The test costs nothing.
func describesMatrices(api driver.API) bool {
	_, r := api.EncodeTensorMap(0, driver.Tiled{})
	return r != driver.NotFound
}
