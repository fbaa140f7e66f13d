//go:build linux

package pjrt

import (
	"errors"

	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// withRoom makes a call that takes memory of a device. Where there is too little, what belongs to models that nobody
// can reach is given back, and the call is made once more.
func (b *Backend) withRoom(call func() error) error {
	err := call()
	var e *capi.Error
	if !errors.As(err, &e) || e.Code != capi.ResourceExhausted {
		return err
	}
	b.dead.Collect()
	if call() == nil {
		return nil
	}
	return err
}
