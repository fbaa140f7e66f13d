package saving

import (
	"fmt"
	"io"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/layers"
)

// tableNames lists the datasets of an object's table.
func tableNames(o Object) []string {
	if keeper, ok := o.Layer.(layers.TableKeeper); ok {
		return keeper.TableNames()
	}
	return nil
}

// HasTable reports whether an object has a table, which only Keras's own file formats can store.
func HasTable(o Object) bool { return len(tableNames(o)) > 0 }

// addTable adds a layer's table.
func addTable(w *hdf5.Writer, o Object) error {
	if !HasTable(o) {
		return nil
	}
	arrays, err := o.Layer.(layers.TableKeeper).TableArrays()
	if err != nil {
		return fmt.Errorf("weights: %s: %w", describe(o), err)
	}
	for _, name := range tableNames(o) {
		a, ok := arrays[name]
		if !ok {
			continue
		}
		if _, err := w.Root().Dataset(join(o.Path, name), fileTypes[a.Type.DType], a.Type.Shape, func(w io.Writer) error {
			_, err := w.Write(a.Data)
			return err
		}); err != nil {
			return fmt.Errorf("weights: %s: %w", describe(o), err)
		}
	}
	return nil
}

// loadTable passes the table in a file to its layer.
func loadTable(source Source, o Object) error {
	numbers, floats := map[string][]int64{}, map[string][]float32{}
	for _, name := range tableNames(o) {
		d, err := source.Array(join(o.Path, name))
		switch {
		case err != nil:
			return err
		case d == nil:
		case d.Type().Class == hdf5.ClassInt || d.Type().Class == hdf5.ClassUint:
			numbers[name], err = d.Int64s()
		default:
			floats[name], err = d.Float32s()
		}
		if err != nil {
			return err
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return o.Layer.(layers.TableKeeper).LoadTable(numbers, floats)
}
