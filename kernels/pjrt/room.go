//go:build linux

package pjrt

import (
	"errors"

	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// withRoom makes a call that allocates memory of a device. If there is too little, memory of models that nobody can
// reach is released, and the call is made once more.
func (b *Backend) withRoom(call func() error) error {
	return b.again(call(), call)
}

// again is the second half of withRoom: err is the error of the first call.
func (b *Backend) again(err error, call func() error) error {
	var e *capi.Error
	if err == nil || !errors.As(err, &e) || e.Code != capi.ResourceExhausted {
		return err
	}
	b.dead.Collect()
	if call() == nil {
		return nil
	}
	return err
}
