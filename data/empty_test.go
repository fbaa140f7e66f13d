package data_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Arrays without elements, go through files, sources and loaders with their shape and type.
func TestEmptyArrays(t *testing.T) {
	shapes := [][]int{{0}, {0, 3}, {3, 0}, {2, 0, 4}, {0, 0}}
	for _, dt := range []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Bool, ir.Uint8} {
		for _, shape := range shapes {
			same := func(d data.Array) {
				t.Helper()
				require.Equal(t, shape, d.Shape())
				require.Equal(t, dt, d.DType())
				if dt.Size() > 1 {
					require.Empty(t, d.Elements())
				}
			}
			for _, d := range []data.Array{kernels.NewArray(ir.Type{DType: dt, Shape: shape})} {
				converted, err := data.ToArray(d)
				require.NoError(t, err)
				same(converted)
				var file bytes.Buffer
				require.NoError(t, data.WriteNPY(&file, d))
				read, err := data.ReadNPY(&file)
				require.NoError(t, err)
				same(read)
				path := filepath.Join(t.TempDir(), "a.npz")
				require.NoError(t, data.SaveNPZ(path, data.Tensors{Names: []string{"a"}, Arrays: []data.Array{d}}))
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
	none, err := data.Zeros[float32](0, 3)
	require.NoError(t, err)
	assert.Equal(t, []float32{}, none.Elements())
	_, err = data.Zeros[float32](0, -1)
	assert.ErrorContains(t, err, "expected lengths of 0 and more")
	_, err = data.Zeros[float32](1<<40, 1<<40)
	assert.Error(t, err)
}

func ExampleZeros() {
	none, err := data.Zeros[float32](0, 3)
	fmt.Println(none.Shape(), none.Elements(), err)
	// Output: [0 3] [] <nil>
}
