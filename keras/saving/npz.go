package saving

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// npyCodes are NumPy's names of element types; bfloat16 has none.
var npyCodes = map[ir.DType]string{
	ir.Bool: "|b1", ir.Int8: "|i1", ir.Int16: "<i2", ir.Int32: "<i4", ir.Int64: "<i8",
	ir.Uint8: "|u1", ir.Uint16: "<u2", ir.Uint32: "<u4", ir.Uint64: "<u8",
	ir.Float16: "<f2", ir.Float32: "<f4", ir.Float64: "<f8",
}

// WriteNPZ writes variables as a NumPy archive, one member for each, named by its path. Scalars keep their shape;
// bfloat16 and smaller floats, which NumPy does not know, become float32. Variables without elements are left out.
func WriteNPZ(w io.Writer, variables distribute.Variables) error {
	if err := checkWrite(w, variables); err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	seen := map[string]bool{}
	for _, v := range variables {
		if v.Size() == 0 {
			continue
		}
		name := v.Path()
		if seen[name] {
			return fmt.Errorf("two variables have the path %q, so that they cannot be told apart by name; save to .weights.h5, or name the layers differently", name)
		}
		seen[name] = true
		member, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			err = writeVariable(member, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return archive.Close()
}

func writeVariable(w io.Writer, v *distribute.Variable) error {
	if _, known := npyCodes[v.Type().DType]; known || !v.Type().DType.IsHalf() {
		return writeNPY(w, v.Type(), v)
	}
	a, err := v.Value()
	if err == nil {
		a, err = kernels.FromFloat64s(ir.Float32, a.Type.Shape, a.Float64s())
	}
	if err != nil {
		return err
	}
	return writeNPY(w, a.Type, bytes.NewReader(a.Data))
}

// openNPZ opens a NumPy archive whose members are named by the paths of variables.
func openNPZ(r io.ReaderAt, size int64) (*Named, error) {
	if archive, err := zip.NewReader(r, size); err == nil && len(archive.File) == 0 {
		return &Named{}, nil // of a model without weights; as data it is a mistake
	}
	t, err := data.ReadNPZ(r, size)
	if err != nil {
		return nil, err
	}
	return &Named{
		Names: t.Names,
		Type:  func(i int) (ir.Type, error) { return t.Arrays[i].Type, t.Arrays[i].Check() },
		ReadInto: func(i int, memory []byte) error {
			copy(memory, t.Arrays[i].Data)
			return nil
		},
	}, nil
}

// writeNPY writes format version 1.0: the header ends with a newline and is padded so that the values begin at a
// multiple of 64.
func writeNPY(w io.Writer, t ir.Type, values io.WriterTo) error {
	code, ok := npyCodes[t.DType]
	if !ok {
		return fmt.Errorf("values of type %v have no place in a .npy file", t.DType)
	}
	dims := ""
	for _, d := range t.Shape {
		dims += fmt.Sprintf("%d, ", d)
	}
	if len(t.Shape) > 1 {
		dims = strings.TrimSuffix(dims, ", ")
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", code, strings.TrimSuffix(dims, " "))
	const prefix = len("\x93NUMPY") + 4
	text += strings.Repeat(" ", 63-(prefix+len(text))%64) + "\n"
	head := append([]byte("\x93NUMPY"), 1, 0)
	head = append(binary.LittleEndian.AppendUint16(head, uint16(len(text))), text...)
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := values.WriteTo(w)
	return err
}

func checkWrite(w io.Writer, variables distribute.Variables) error {
	if w == nil {
		return errors.New("the writer is nil")
	}
	if i := slices.Index(variables, nil); i >= 0 {
		return fmt.Errorf("variable %d is nil", i)
	}
	return nil
}
