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

// WriteNPZ writes variables as a NumPy archive, with one member for each, named by its path. Scalars keep their shape;
// bfloat16 and smaller floats, which NumPy does not have, become float32. Variables without elements are left out.
func WriteNPZ(w io.Writer, variables distribute.Variables) error {
	if err := checkWrite(w, variables); err != nil {
		return err
	}
	members, seen := make([]Member, 0, len(variables)), map[string]bool{}
	for _, v := range variables {
		if v.Size() == 0 {
			continue
		}
		name := v.Path()
		if seen[name] {
			return fmt.Errorf("two variables have the path %q, so that they cannot be told apart by name; save to .weights.h5, or name the layers differently", name)
		}
		seen[name] = true
		_, known := npyCodes[v.Type().DType]
		members = append(members, Member{Name: name, Variable: v, Widen: !known && v.Type().DType.IsHalf()})
	}
	return WriteMembers(w, members)
}

// Member is an array of a NumPy archive.
type Member struct {
	Name     string
	Variable *distribute.Variable // its value is written piece by piece; nil: Array is written
	Array    kernels.Array
	Widen    bool // to float32
}

// WriteMembers writes a NumPy archive, without compression.
func WriteMembers(w io.Writer, members []Member) error {
	if err := checkWrite(w, nil); err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	for _, m := range members {
		member, err := archive.CreateHeader(&zip.FileHeader{Name: m.Name + ".npy", Method: zip.Store})
		if err == nil {
			err = m.write(member)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return archive.Close()
}

func (m Member) write(w io.Writer) (err error) {
	if m.Variable != nil && !m.Widen {
		return writeNPY(w, m.Variable.Type(), m.Variable)
	}
	a := m.Array
	if m.Variable != nil {
		if a, err = m.Variable.Value(); err != nil {
			return err
		}
	}
	if m.Widen {
		if a, err = a.Convert(ir.Float32); err != nil {
			return err
		}
	}
	return writeNPY(w, a.Type, bytes.NewReader(a.Data))
}

// openNPZ opens a NumPy archive whose members are named by the paths of variables.
func openNPZ(r io.ReaderAt, size int64) (*Named, error) {
	if archive, err := zip.NewReader(r, size); err == nil && len(archive.File) == 0 {
		return &Named{}, nil // of a model without weights; for data it would be a mistake
	}
	z, err := data.OpenNPZ(r, size)
	if err != nil {
		return nil, err
	}
	return &Named{z.Names, z.Type, z.ReadInto}, nil
}

// writeNPY writes format version 1.0: the header ends with a newline and is padded so that the values begin at a
// multiple of 64 bytes.
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
