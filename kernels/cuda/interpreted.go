//go:build linux && cudafake

package cuda

import (
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
)

// Devices of kind "ptx" are fakes whose kernels are interpreted: tests of other packages run on them.
func init() {
	fake := fakedriver.New(fakedriver.Options{})
	b := newBackend("ptx", func() (driver.API, error) { return fake, nil })
	b.several = 512
	kernels.Register(b)
}
