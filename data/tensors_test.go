package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/data"
)

func TestTensorsFindTheirArrays(t *testing.T) {
	a, b := dense([]float32{1, 2}, 2), dense([]int64{3}, 1)
	assert.Same(t, &a.Data[0], &data.List(a).Single().Data[0])
	assert.True(t, data.List(a, b).Single().IsZero())
	assert.True(t, data.Tensors{}.Single().IsZero())
	assert.True(t, data.List(a).Get("a").IsZero())

	named := data.Dict(map[string]data.Array{"tags": b, "image": a})
	assert.Equal(t, []string{"image", "tags"}, named.Names)
	assert.Same(t, &b.Data[0], &named.Get("tags").Data[0])
	assert.True(t, named.Get("none").IsZero())
	assert.Equal(t, 2, named.Len())
	assert.Equal(t, "(image float32[2], tags int64[1])", named.String())
	assert.Equal(t, "(float32[2], int64[1])", data.List(a, b).String())
	assert.Equal(t, "float32[2]", data.List(a).String())
}

func TestCloneSharesNothing(t *testing.T) {
	values := []float32{1, 2}
	original := data.Batch{X: data.Dict(map[string]data.Array{"a": dense(values, 2)}), Y: data.List(dense([]int64{7}))}
	c := original.Clone()
	values[0] = 5
	original.X.Names[0] = "changed"
	assert.Equal(t, []float32{1, 2}, c.X.Get("a").Elements())
	assert.Equal(t, []int64{7}, c.Y.Single().Elements())
	assert.Nil(t, c.SampleWeight.Arrays)
}

func TestBatchSize(t *testing.T) {
	assert.Equal(t, 3, data.Batch{X: data.List(dense([]float32{1, 2, 3}, 3))}.Size())
	assert.Equal(t, 2, data.Batch{Y: data.List(dense([]float32{1, 2}, 2))}.Size())
	assert.Equal(t, 0, data.Batch{X: data.List(dense([]float32{1}))}.Size(), "a scalar has no leading axis")
	assert.Equal(t, 0, data.Batch{}.Size())
}

func ExampleTensors() {
	image := data.Must(data.Zeros[float32](2, 28, 28))
	tags := data.Must(data.Zeros[int32](2, 16))
	x := data.Dict(map[string]data.Array{"tags": tags, "image": image})
	fmt.Println(x)
	fmt.Println(x.Get("tags").Shape())
	// Output:
	// (image float32[2 28 28], tags int32[2 16])
	// [2 16]
}

func ExampleBatch() {
	batch := data.Batch{
		X: data.List(data.Must(data.ArrayOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3))),
		Y: data.List(data.Must(data.ArrayOf([]int64{0, 1}, 2))),
	}
	fmt.Println(batch.Size(), "examples:", batch)
	// Output: 2 examples: x float32[2 3], y int64[2]
}
