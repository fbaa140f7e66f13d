package saving

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Source is a source of weights, addressed by the paths of objects.
type Source interface {
	// Vars returns the datasets of an object in order, or none if the file does not have the object.
	Vars(path string) ([]*hdf5.Dataset, error)
	// Array returns the dataset at a path, or nil without an error if there is none.
	Array(path string) (*hdf5.Dataset, error)
	// Datasets lists the paths of all datasets.
	Datasets() ([]string, error)
}

// oldLayers is the name of the list of layers in Keras 2.13 to 2.15.
const oldLayers = "_layer_checkpoint_dependencies"

// h5Source is one HDF5 file.
type h5Source struct {
	root *hdf5.Group
	old  bool // written by Keras 2
}

// OpenWeights opens an HDF5 file in the layout of Keras 3, or of the .keras files of Keras 2.
func OpenWeights(r io.ReaderAt, size int64) (Source, error) {
	file, err := hdf5.Open(r, size)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return &h5Source{root: file.Root(), old: file.Root().Has(oldLayers)}, nil
}

func (s *h5Source) Vars(path string) ([]*hdf5.Dataset, error) {
	list, found, err := varsAt(s.root, path)
	if s.old && err == nil && !found {
		list, _, err = varsAt(s.root, strings.ReplaceAll(path, "layers", oldLayers))
	}
	return list, err
}

func (s *h5Source) Array(path string) (*hdf5.Dataset, error) { return datasetAt(s.root, path) }

func datasetAt(root *hdf5.Group, path string) (*hdf5.Dataset, error) {
	d, err := root.Dataset(path)
	if errors.Is(err, hdf5.ErrNotFound) {
		return nil, nil
	}
	return d, err
}

// varsAt returns the datasets of the group vars below path, and whether there is one.
func varsAt(root *hdf5.Group, path string) ([]*hdf5.Dataset, bool, error) {
	group, err := root.Group(join(path, "vars"))
	switch {
	case errors.Is(err, hdf5.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	names, err := group.Names()
	if err != nil {
		return nil, false, err
	}
	out := make([]*hdf5.Dataset, len(names))
	for i := range out {
		if out[i], err = group.Dataset(fmt.Sprint(i)); err != nil {
			return nil, false, fmt.Errorf("%s: dataset %d of %d: %w", group.Path(), i, len(names), err)
		}
	}
	return out, true, nil
}

func (s *h5Source) Datasets() ([]string, error) {
	var out []string
	err := s.root.Walk(func(path string, o hdf5.Object) error {
		if _, ok := o.(*hdf5.Dataset); ok {
			if s.old {
				path = strings.ReplaceAll(path, oldLayers, "layers")
			}
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// dtypes maps element types of files to those of programs.
var dtypes = map[hdf5.Type]ir.DType{
	hdf5.Int8: ir.Int8, hdf5.Int16: ir.Int16, hdf5.Int32: ir.Int32, hdf5.Int64: ir.Int64,
	hdf5.Uint8: ir.Uint8, hdf5.Uint16: ir.Uint16, hdf5.Uint32: ir.Uint32, hdf5.Uint64: ir.Uint64,
	hdf5.Float16: ir.Float16, hdf5.Float32: ir.Float32, hdf5.Float64: ir.Float64, hdf5.Bfloat16: ir.BFloat16, hdf5.Bool: ir.Bool,
}

// fileTypes is the reverse of dtypes.
var fileTypes = func() map[ir.DType]hdf5.Type {
	out := map[ir.DType]hdf5.Type{}
	for file, program := range dtypes {
		out[program] = file
	}
	return out
}()

// typeOf returns the type of a dataset's value, whatever its byte order.
func typeOf(d *hdf5.Dataset) (ir.Type, error) {
	t := d.Type()
	t.BigEndian = false
	dtype, ok := dtypes[t]
	if !ok {
		return ir.Type{}, fmt.Errorf("the dataset holds values of type %v; expected numbers", d.Type())
	}
	return ir.Type{DType: dtype, Shape: ir.Shape(d.Shape())}, nil
}
