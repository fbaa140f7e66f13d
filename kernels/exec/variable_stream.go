package exec

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// piece is how much of a value is in memory twice while it is being written.
const piece = 256 << 10

var pieces = sync.Pool{New: func() any { return new([piece]byte) }}

// WriteTo writes the bytes of the value, those of the array that [Variable.Value] returns. Values in host memory are
// copied piece by piece, so that writing a large model needs little memory. The value must not change meanwhile.
func (v *Variable) WriteTo(w io.Writer) (int64, error) {
	memory, err := v.readable()
	if err != nil {
		return 0, err
	}
	if memory == nil {
		a, err := v.Value()
		if err != nil {
			return 0, err
		}
		n, err := w.Write(a.Data)
		return int64(n), err
	}
	total := v.Type().Bytes()
	whole := pieces.Get().(*[piece]byte)
	defer pieces.Put(whole)
	buffer := whole[:]
	for at := 0; at < total; at += len(buffer) {
		buffer = buffer[:min(len(buffer), total-at)]
		if err := memory.ReadRange(buffer, at); err != nil {
			return int64(at), fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
		if n, err := w.Write(buffer); err != nil {
			return int64(at + n), err
		}
	}
	return int64(total), nil
}

// readable returns the memory that holds the whole value; nil if it must be assembled or is on a device.
func (v *Variable) readable() (kernels.RangeReader, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return nil, err
	}
	if v.spec.Synchronization == OnRead || v.strategy.Placement().shards(v) {
		return nil, nil
	}
	memory, _ := v.copies[0].(kernels.RangeReader)
	return memory, nil
}

// ReadValue replaces the value by what read puts into memory as elements of the given type, as [Variable.SetValue]
// does. If the variable has that type, is placed and has no memory yet, it gets memory, and read fills that directly if
// it is in host memory. Otherwise read gets memory from scratch, which is kept for the next variable. If read fails,
// the value is unchanged.
func (v *Variable) ReadValue(dtype ir.DType, read func(memory []byte) error, scratch *[]byte) error {
	if read == nil || scratch == nil {
		return errors.New("distribute: ReadValue: received no function or no scratch memory")
	}
	if dtype == v.Type().DType {
		if done, err := v.readFirst(read, scratch); done || err != nil {
			return err
		}
	}
	t := ir.Type{DType: dtype, Shape: v.spec.Shape}
	a := kernels.Array{Type: t, Data: sized(scratch, t.Bytes())}
	if err := read(a.Data); err != nil {
		return err
	}
	return v.SetValue(a)
}

// sized returns n bytes of scratch, which grows if necessary.
func sized(scratch *[]byte, n int) []byte {
	if cap(*scratch) < n {
		*scratch = make([]byte, n)
	}
	return (*scratch)[:n]
}

// readFirst reads the first value of a variable directly into its memory, if possible.
func (v *Variable) readFirst(read func(memory []byte) error, scratch *[]byte) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.copies != nil || v.strategy == nil || v.spec.Check != nil || v.keepsShares() || v.strategy.Placement().shards(v) {
		return false, nil
	}
	copies, err := v.newCopies()
	if err != nil {
		return false, err
	}
	if first, ok := copies[0].(kernels.Filler); ok {
		err = fillAll(first, copies[1:], read)
	} else {
		memory := sized(scratch, v.Type().Bytes())
		err = read(memory)
		for _, c := range copies {
			if err == nil {
				err = c.Write(memory)
			}
		}
	}
	if err != nil {
		for _, c := range copies {
			c.Free()
		}
		return false, err
	}
	v.copies, v.pending = copies, nil
	return true, nil
}

// check refuses values that the variable must not be given.
func (v *Variable) check(a kernels.Array) error {
	if v.spec.Check == nil {
		return nil
	}
	if err := v.spec.Check(a); err != nil {
		return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
	}
	return nil
}
