package data_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestArraysTakesEveryStructure(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, 4}, {5, 6}}, []int{0, 1, 0}
	for name, c := range map[string]struct {
		source      *data.ArraySource
		x, y, w     int
		xNames      []string
		firstXShape []int
	}{
		"arrays":          {data.Arrays(x, y), 1, 1, 0, nil, []int{3, 2}},
		"no targets":      {data.Arrays(x, nil), 1, 0, 0, nil, []int{3, 2}},
		"weights":         {data.Arrays(x, y, data.SampleWeight([]float64{1, 2, 3})), 1, 1, 1, nil, []int{3, 2}},
		"dictionary":      {data.Arrays(map[string]any{"b": x, "a": y}, y), 2, 1, 0, []string{"a", "b"}, []int{3}},
		"typed dict":      {data.Arrays(map[string][][]float32{"b": x}, y), 1, 1, 0, []string{"b"}, []int{3, 2}},
		"ordered dict":    {data.Arrays(data.Tensors{Names: []string{"b", "a"}, Arrays: []data.Array{dense(y, 3), dense(y, 3)}}, nil), 2, 0, 0, []string{"b", "a"}, []int{3}},
		"list":            {data.Arrays([]any{x, y}, []any{y, y}), 2, 2, 0, nil, []int{3, 2}},
		"list of dense":   {data.Arrays([]data.Array{dense(y, 3, 1), dense(y, 3)}, nil), 2, 0, 0, nil, []int{3, 1}},
		"pointer":         {data.Arrays(pointer(dense(y, 3, 1)), pointer(dense(y, 3))), 1, 1, 0, nil, []int{3, 1}},
		"list of arrayer": {data.Arrays([]table{{dense(y, 3, 1)}}, nil), 1, 0, 0, nil, []int{3, 1}},
		"arrayer":         {data.Arrays(table{dense(y, 3, 1)}, table{dense(y, 3)}), 1, 1, 0, nil, []int{3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.source.Err())
			all := c.source.All()
			assert.Equal(t, 3, c.source.N())
			assert.Equal(t, []int{c.x, c.y, c.w}, []int{all.X.Len(), all.Y.Len(), all.SampleWeight.Len()})
			assert.Equal(t, c.xNames, all.X.Names)
			assert.Equal(t, c.firstXShape, shapeOf(all.X.Arrays[0]))
		})
	}
}

// table is what a program may have of its own.
type table struct{ a data.Array }

func (t table) Array() (data.Array, error) { return t.a, t.a.Check() }

func pointer[T any](v T) *T { return &v }

func TestArraysCarriesItsError(t *testing.T) {
	for name, c := range map[string]struct {
		source *data.ArraySource
		want   string
	}{
		"no x":            {data.Arrays(nil, []int{1}), "x is nil"},
		"counts differ":   {data.Arrays([]int{1, 2, 3}, []int{1, 2}), "x has 3 samples but y has 2"},
		"dict counts":     {data.Arrays(map[string]any{"a": []int{1}, "b": []int{1, 2}}, nil), `x["a"] has 1 samples but x["b"] has 2`},
		"list counts":     {data.Arrays([]any{[]int{1}, []int{1, 2}}, nil), "x[0] has 1 samples but x[1] has 2"},
		"weight count":    {data.Arrays([]int{1}, []int{1}, data.SampleWeight([]int{1, 2})), "x has 1 samples but sample_weight has 2"},
		"scalar":          {data.Arrays(dense([]int{1}), nil), "x is a scalar"},
		"scalar in list":  {data.Arrays([]any{1.0, 2.0}, nil), "x[0] is a single float64"},
		"ragged":          {data.Arrays([]int{1}, [][]int{{1}, {2, 3}}), "y[1] is ragged"},
		"names":           {data.Arrays([]int{1}, []string{"cat"}), "; ClassLabelsOf and its Encode turn names"},
		"element type":    {data.Arrays(map[string]any{"a": []complex64{1}}, nil), `x["a"] is a []complex64`},
		"nil in dict":     {data.Arrays(map[string]any{"a": nil}, nil), `x["a"] is nil`},
		"empty dict":      {data.Arrays(map[string]any{}, nil), "empty map"},
		"empty list":      {data.Arrays([]any{}, nil), "empty []interface"},
		"names mismatch":  {data.Arrays(data.Tensors{Names: []string{"a"}, Arrays: nil}, nil), "1 names for 0 arrays"},
		"name twice":      {data.Arrays(data.Tensors{Names: []string{"a", "a"}, Arrays: []data.Array{dense([]int{1}, 1), dense([]int{1}, 1)}}, nil), `two arrays named "a"`},
		"slice too large": {data.Arrays([]int{1, 2}, nil).Slice(0, 3), "slice [0:3] of 2 examples"},
		"slice empty":     {data.Arrays([]int{1, 2}, nil).Slice(1, 1), "slice [1:1] of 2 examples"},
		"slice of error":  {data.Arrays(nil, nil).Slice(0, 1), "x is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.source.Err(), c.want)
			assert.ErrorContains(t, c.source.Err(), "data: Arrays: ")
			assert.Zero(t, c.source.N())
			require.ErrorIs(t, c.source.Gather([]int{0}, &data.Batch{}), c.source.Err())
			for name, ds := range map[string]data.Dataset{"Batches": c.source, "Loader": c.source.Loader(2, true, 0), "Elements": c.source.Elements()} {
				n, err := firstError(t, t.Context(), ds)
				require.ErrorIs(t, err, c.source.Err(), name)
				assert.Zero(t, n)
			}
		})
	}
}

func TestSliceSharesMemory(t *testing.T) {
	x, y := []float32{0, 1, 2, 3, 4, 5, 6, 7}, []int64{0, 1, 2, 3}
	part := data.Arrays(dense(x, 4, 2), y).Slice(1, 3)
	require.NoError(t, part.Err())
	x[2] = 9
	assert.Equal(t, 2, part.N())
	assert.Equal(t, []float32{9, 3, 4, 5}, part.All().X.Single().Elements())
	assert.Equal(t, []int64{1, 2}, part.All().Y.Single().Elements())
	assert.Equal(t, []int64{2}, part.Slice(1, 2).All().Y.Single().Elements(), "a slice of a slice")
}

// rowWidths covers the specialised copies of 1, 4 and 8 bytes and the general one.
func rowWidths(n int) *data.ArraySource {
	bytes, words, longs, rows := make([]uint8, n), make([]float32, n), make([]float64, n), make([]uint16, 3*n)
	for i := range n {
		bytes[i], words[i], longs[i] = uint8(i), float32(i), float64(i)
		rows[3*i], rows[3*i+1], rows[3*i+2] = uint16(i), uint16(i+1000), uint16(i+2000)
	}
	return data.Arrays(map[string]any{"byte": bytes, "word": words, "long": longs}, dense(rows, n, 3), data.SampleWeight(words))
}

func TestGather(t *testing.T) {
	source := rowWidths(100)
	var batch data.Batch
	for _, indices := range [][]int{{3, 99, 0, 3}, {7}, {1, 2, 3, 4}} {
		require.NoError(t, source.Gather(indices, &batch))
		for i, index := range indices {
			assert.Equal(t, uint8(index), batch.X.Get("byte").Elements().([]uint8)[i])
			assert.Equal(t, float32(index), batch.X.Get("word").Elements().([]float32)[i])
			assert.Equal(t, float64(index), batch.X.Get("long").Elements().([]float64)[i])
			assert.Equal(t, []uint16{uint16(index), uint16(index + 1000), uint16(index + 2000)}, batch.Y.Single().Elements().([]uint16)[3*i:3*i+3])
			assert.Equal(t, float32(index), batch.SampleWeight.Single().Elements().([]float32)[i])
		}
		assert.Equal(t, []int{len(indices), 3}, shapeOf(batch.Y.Single()))
		assert.Equal(t, len(indices), batch.Size())
	}
}

func TestGatherReplacesOnlyArraysThatDoNotFit(t *testing.T) {
	source := data.Arrays([][]float32{{1, 2}, {3, 4}}, []int32{5, 6})
	fits, wrong := dense(make([]float32, 2), 1, 2), dense(make([]int64, 1), 1)
	batch := data.Batch{X: data.List(fits), Y: data.List(wrong)}
	require.NoError(t, source.Gather([]int{1}, &batch))
	assert.Same(t, &fits.Data[0], &batch.X.Single().Data[0])
	assert.NotEqual(t, wrong.DType(), batch.Y.Single().DType())
	assert.Equal(t, []float32{3, 4}, fits.Elements())
	assert.Equal(t, []int32{6}, batch.Y.Single().Elements())

	for name, misfit := range map[string]data.Array{
		"shape": dense(make([]float32, 2), 2, 1), "rank": dense(make([]float32, 2), 2), "longer": dense(make([]float32, 4), 2, 2),
	} {
		indices := []int{0}
		batch := data.Batch{X: data.List(misfit)}
		require.NoError(t, source.Gather(indices, &batch))
		assert.NotSame(t, &misfit.Data[0], &batch.X.Single().Data[0], name)
	}
}

func TestGatherRejectsIndices(t *testing.T) {
	source := data.Arrays([]int{1, 2}, nil)
	require.ErrorContains(t, source.Gather([]int{0, 2}, &data.Batch{}), "index 2 of 2 examples")
	require.ErrorContains(t, source.Gather([]int{-1}, &data.Batch{}), "index -1")
	require.ErrorContains(t, source.Gather(nil, &data.Batch{}), "no indices")
}

func TestGatherReusesMemory(t *testing.T) {
	source, indices, batch := rowWidths(100), []int{5, 3, 8, 1}, data.Batch{}
	require.NoError(t, source.Gather(indices, &batch))
	assert.Zero(t, testing.AllocsPerRun(50, func() {
		if source.Gather(indices, &batch) != nil {
			t.Fail()
		}
	}))
}

func TestGatherRunsInParallel(t *testing.T) {
	source := rowWidths(64)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			var batch data.Batch
			for i := range 200 {
				index := (i*7 + worker) % 64
				if err := source.Gather([]int{index}, &batch); err != nil || batch.X.Get("word").Elements().([]float32)[0] != float32(index) {
					t.Errorf("worker %d: index %d: %v", worker, index, err)
					return
				}
			}
		})
	}
	running.Wait()
}

func TestArraysAsDataset(t *testing.T) {
	source := data.Arrays(upTo(70), nil)
	n, known := source.Cardinality()
	assert.True(t, known)
	assert.Equal(t, 3, n)
	var sizes []int
	var seen []int64
	for _, batch := range batchesOf(t, source, 5) {
		sizes, seen = append(sizes, batch.Size()), append(seen, batch.X.Single().Elements().([]int64)...)
	}
	assert.Equal(t, []int{32, 32, 6}, sizes)
	assert.Equal(t, upTo(70), seen)
}

func TestElementsHaveNoLeadingAxis(t *testing.T) {
	source := data.Arrays([][]float32{{1, 2}, {3, 4}}, []int64{5, 6}, data.SampleWeight(map[string]any{"out": []float32{.5, 1}}))
	elements := slices.Collect(func(yield func(data.Batch) bool) {
		for e := range source.Elements().Batches(t.Context(), 0) {
			if !yield(e) {
				return
			}
		}
	})
	require.Len(t, elements, 2)
	assert.Equal(t, []float32{3, 4}, elements[1].X.Single().Elements())
	assert.Equal(t, []int{2}, shapeOf(elements[1].X.Single()))
	assert.Equal(t, []int64{6}, elements[1].Y.Single().Elements())
	assert.Equal(t, []float32{.5}, elements[0].SampleWeight.Get("out").Elements())
}

func ExampleArrays() {
	x := [][]float32{{0, 0}, {0, 1}, {1, 0}, {1, 1}}
	y := []int{0, 1, 1, 0}
	source := data.Arrays(x, y)
	fmt.Println(source.N(), "examples:", source.All())
	fmt.Println(source.Slice(2, 4).All().Y.Single().Elements())

	fmt.Println(data.Arrays(x, y[:3]).Err())
	// Output:
	// 4 examples: x float32[4 2], y int64[4]
	// [1 0]
	// data: Arrays: x has 4 samples but y has 3; every array needs the same number
}

func ExampleArrays_dictionary() {
	inputs := map[string]any{
		"image": [][]float32{{0, 1, 2}, {3, 4, 5}},
		"tags":  []int32{7, 8},
	}
	source := data.Arrays(inputs, []float32{0.5, 1.5}, data.SampleWeight([]float32{1, 2}))
	fmt.Println(source.All())
	// Output: x (image float32[2 3], tags int32[2]), y float32[2], sample_weight float32[2]
}

func ExampleArraySource_Gather() {
	source := data.Arrays([]float32{10, 11, 12, 13}, nil)
	var batch data.Batch
	if err := source.Gather([]int{3, 0, 3}, &batch); err != nil {
		fmt.Println(err)
	}
	fmt.Println(batch.X.Single().Elements())
	// Output: [13 10 13]
}

func BenchmarkGather(b *testing.B) {
	images, labels := make([]uint8, 10000*784), make([]uint8, 10000)
	source := data.Arrays(dense(images, 10000, 28, 28), labels)
	indices := make([]int, 64)
	for i := range indices {
		indices[i] = i * 7919 % 10000
	}
	var batch data.Batch
	b.ReportAllocs()
	for b.Loop() {
		if err := source.Gather(indices, &batch); err != nil {
			b.Fatal(err)
		}
	}
}
