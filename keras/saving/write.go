package saving

import (
	"fmt"
	"io"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// Weights describes the HDF5 file that Keras writes for objects: a group vars for each, with its name as an attribute
// and its variables as datasets. Values are read from the variables when the file is written.
func Weights(objects []Object) (*hdf5.Writer, error) {
	w := hdf5.NewWriter()
	for _, o := range objects {
		group, err := w.Root().Group(join(o.Path, "vars"))
		if err != nil {
			return nil, fmt.Errorf("weights: %w", err)
		}
		if o.Name != "" {
			if err := group.SetAttribute("name", o.Name); err != nil {
				return nil, fmt.Errorf("weights: %w", err)
			}
		}
		if err := addArrays(w, o); err != nil {
			return nil, err
		}
		values, err := o.values()
		if err != nil {
			return nil, fmt.Errorf("weights: %s: %w", describe(o), err)
		}
		for i, v := range o.Variables {
			if err := addVariable(group, fmt.Sprint(i), v, values); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// values returns the arrays that the file stores in place of variables' values.
func (o Object) values() (map[*distribute.Variable]kernels.Array, error) {
	if i := slices.Index(o.Variables, nil); i >= 0 {
		return nil, fmt.Errorf("variable %d is nil", i)
	}
	if o.Layer == nil {
		return nil, nil
	}
	return layers.FileValues(o.Layer)
}

func addVariable(group *hdf5.GroupWriter, name string, v *distribute.Variable, values map[*distribute.Variable]kernels.Array) error {
	given, found := values[v]
	if found && given.Type.DType != v.Type().DType {
		var err error
		if given, err = kernels.FromFloat64s(v.Type().DType, v.Type().Shape, given.Float64s()); err != nil {
			return fmt.Errorf("weights: variable %s: %w", v.Path(), err)
		}
	}
	t, ok := fileTypes[v.Type().DType]
	if !ok {
		return fmt.Errorf("weights: variable %s: values of type %v have no place in a file", v.Path(), v.Type().DType)
	}
	_, err := group.Dataset(name, t, v.Type().Shape, func(w io.Writer) error {
		if !found {
			_, err := v.WriteTo(w)
			return err
		}
		_, err := w.Write(given.Data)
		return err
	})
	if err != nil {
		return fmt.Errorf("weights: variable %s: %w", v.Path(), err)
	}
	return nil
}
