package saving

import (
	"fmt"
	"io"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/safetensors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

var safeTypes = map[safetensors.DType]ir.DType{
	safetensors.Bool: ir.Bool, safetensors.I8: ir.Int8, safetensors.I16: ir.Int16, safetensors.I32: ir.Int32, safetensors.I64: ir.Int64,
	safetensors.U8: ir.Uint8, safetensors.U16: ir.Uint16, safetensors.U32: ir.Uint32, safetensors.U64: ir.Uint64,
	safetensors.F16: ir.Float16, safetensors.BF16: ir.BFloat16, safetensors.F32: ir.Float32, safetensors.F64: ir.Float64,
}

// safeNames is the reverse of safeTypes.
var safeNames = func() map[ir.DType]safetensors.DType {
	out := map[ir.DType]safetensors.DType{}
	for file, program := range safeTypes {
		out[program] = file
	}
	return out
}()

// WriteSafetensors writes variables as a safetensors file, with one tensor for each, named by its path.
func WriteSafetensors(w io.Writer, variables distribute.Variables) error {
	if err := checkWrite(w, variables); err != nil {
		return err
	}
	var file safetensors.Writer
	for _, v := range variables {
		dtype, ok := safeNames[v.Type().DType]
		if !ok {
			return fmt.Errorf("variable %s: values of type %v have no place in a safetensors file", v.Path(), v.Type().DType)
		}
		err := file.Add(v.Path(), dtype, v.Type().Shape, func(w io.Writer) error {
			_, err := v.WriteTo(w)
			return err
		})
		if err != nil {
			return fmt.Errorf("variable %s: %w", v.Path(), err)
		}
	}
	_, err := file.WriteTo(w)
	return err
}

// Safetensors is a safetensors file opened for reading.
type Safetensors struct {
	Names []string
	list  []*safetensors.Tensor
}

// OpenSafetensors opens a file of the given size in bytes.
func OpenSafetensors(r io.ReaderAt, size int64) (*Safetensors, error) {
	if r == nil {
		return nil, fmt.Errorf("the reader is nil")
	}
	file, err := safetensors.Open(r, size)
	if err != nil {
		return nil, err
	}
	s := &Safetensors{list: file.Tensors()}
	for _, t := range s.list {
		s.Names = append(s.Names, t.Name())
	}
	return s, nil
}

// Type returns the type of tensor i, without reading it.
func (s *Safetensors) Type(i int) (ir.Type, error) {
	t := s.list[i]
	dtype, ok := safeTypes[t.DType()]
	if !ok {
		return ir.Type{}, fmt.Errorf("the type %s cannot be read; expected one of 8 bits or more that programs have", t.DType())
	}
	known := ir.Type{DType: dtype, Shape: t.Shape()}
	if int64(known.Bytes()) != t.Size() {
		return known, fmt.Errorf("the tensor of shape %v holds %d bytes; expected %d", t.Shape(), t.Size(), known.Bytes())
	}
	return known, nil
}

// Value reads tensor i.
func (s *Safetensors) Value(i int) (kernels.Array, error) {
	t, err := s.Type(i)
	if err != nil {
		return kernels.Array{}, err
	}
	a := kernels.NewArray(t)
	return a, s.list[i].ReadInto(a.Data)
}

func openSafetensors(r io.ReaderAt, size int64) (*Named, error) {
	s, err := OpenSafetensors(r, size)
	if err != nil {
		return nil, err
	}
	return &Named{s.Names, s.Type, func(i int, memory []byte) error { return s.list[i].ReadInto(memory) }}, nil
}
