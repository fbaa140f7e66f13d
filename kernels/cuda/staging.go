//go:build linux

package cuda

import (
	"fmt"
	"runtime"

	"github.com/gokeras/gokeras/kernels"
)

var _ kernels.Stager = (*buffer)(nil)

// stage is host memory that the device can reach, not yet assigned to a copy.
type stage struct {
	*block
	device *device
	length int
}

func (s *stage) Bytes() []byte { return s.memory[:s.length] }

func (s *stage) Drop() { s.device.keepStage(s) }

// Stage returns a block of host memory. Large values are written in pieces instead.
func (b *buffer) Stage() kernels.Staged {
	d, n := b.device, b.typ.Bytes()
	if n == 0 || n > pieceBytes {
		return nil
	}
	h, err := d.takeBlock(n)
	if err != nil {
		return nil // Write will return the error
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var s *stage
	if last := len(d.stages) - 1; last >= 0 {
		s, d.stages = d.stages[last], d.stages[:last]
	} else {
		s = &stage{}
	}
	s.block, s.device, s.length = h, d, n
	return s
}

// keepStage makes the memory available again when its copy is over.
func (d *device) keepStage(s *stage) {
	d.keepBlock(s.block)
	s.block = nil
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stages = append(d.stages, s)
}

// WriteStaged begins the copy to the device.
func (b *buffer) WriteStaged(from kernels.Staged) error {
	s, ok := from.(*stage)
	if !ok || s.block == nil || s.device != b.device {
		return fmt.Errorf("cuda: writing a buffer %v on %v from memory that was not staged for its device, or was written already", b.typ, b.device.name)
	}
	defer s.Drop()
	defer runtime.KeepAlive(b)
	if err := b.check("writing", s.length); err != nil {
		return err
	}
	return b.device.send(b.address, s.block, s.length)
}
