package data_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
)

// Arrays without elements, made here or by tensor.New, go through files, sources and loaders with their shape and type.
func TestEmptyArrays(t *testing.T) {
	shapes := [][]int{{0}, {0, 3}, {3, 0}, {2, 0, 4}, {0, 0}}
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Bool, tensor.Uint8} {
		for _, shape := range shapes {
			same := func(d *tensor.Dense) {
				t.Helper()
				require.Equal(t, shape, []int(d.Shape()))
				require.Equal(t, dt, d.Dtype())
				if dt.Size() > 1 {
					require.Empty(t, d.Data())
				}
			}
			made, err := data.Empty(dt, shape...)
			require.NoError(t, err)
			same(made)
			for _, d := range []*tensor.Dense{made, tensor.New(tensor.WithShape(shape...), tensor.Of(dt))} {
				converted, err := data.ToDense(d)
				require.NoError(t, err)
				same(converted)
				var file bytes.Buffer
				require.NoError(t, data.WriteNPY(&file, d))
				read, err := data.ReadNPY(&file)
				require.NoError(t, err)
				same(read)
				path := filepath.Join(t.TempDir(), "a.npz")
				require.NoError(t, data.SaveNPZ(path, data.Tensors{Names: []string{"a"}, Arrays: []*tensor.Dense{d}}))
				all, err := data.LoadNPZ(path)
				require.NoError(t, err)
				same(all.Single())
				same(data.List(d).Clone().Single())

				source := data.Arrays(d, nil)
				require.NoError(t, source.Err())
				require.Equal(t, shape[0], source.N())
				rows, err := data.Rows[float32](d)
				require.NoError(t, err)
				require.Len(t, rows, shape[0])
				count := 0
				for batch, err := range source.Loader(2, true, 1).Batches(context.Background(), 0) {
					if shape[0] == 0 {
						require.ErrorContains(t, err, "no examples")
						break
					}
					require.NoError(t, err)
					count += batch.Size()
					require.Equal(t, shape[1:], []int(batch.X.Single().Shape()[1:]))
				}
				require.Equal(t, shape[0], count)
				if shape[0] > 0 {
					same(source.Slice(0, shape[0]).All().X.Single())
					for row, err := range source.Elements().Batch(shape[0], false).Batches(context.Background(), 0) {
						require.NoError(t, err)
						same(row.X.Single())
					}
				}
			}
		}
	}
	_, err := data.Empty(tensor.Float32, 2, 3)
	assert.ErrorContains(t, err, "received element type float32 and shape [2 3]")
	_, err = data.Empty(tensor.Float32, 0, -1)
	assert.ErrorContains(t, err, "not negative")
	_, err = data.Empty(tensor.Complex64, 0)
	assert.ErrorContains(t, err, "complex64")
}

func ExampleEmpty() {
	none, err := data.Empty(tensor.Float32, 0, 3)
	fmt.Println(none.Shape(), none.Data(), err)
	// Output: (0, 3) [] <nil>
}
