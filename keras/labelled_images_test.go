package keras_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestLabelledImagesModel: a Functional model of Keras whose layer takes images, boxes, labels and masks as a nested
// dict returns its results in Keras's order, and the same model built here writes the same call.
// testdata/labelled_images.json is the output of to_json of Keras 3.15.
func TestLabelledImagesModel(t *testing.T) {
	document, err := os.ReadFile("testdata/labelled_images.json")
	require.NoError(t, err)
	m, err := keras.ModelFromJSON(document)
	require.NoError(t, err)
	some := func(shape ...int) data.Array {
		x := data.Must(data.Zeros[float32](shape...))
		for i, values := 0, x.Elements().([]float32); i < len(values); i++ {
			values[i] = float32(i % 5)
		}
		return x
	}
	inputs := map[string]any{
		"images": some(2, 8, 12, 3), "boxes": some(2, 2, 4), "box_labels": some(2, 2), "labels": some(2, 5), "masks": some(2, 8, 12, 1),
	}
	out, err := m.PredictAll(t.Context(), data.Arrays(inputs, nil))
	require.NoError(t, err)
	require.Len(t, out, 5)
	for i, shape := range [][]int{{2, 2, 4}, {2, 2}, {2, 8, 12, 3}, {2, 5}, {2, 8, 12, 1}} { // sorted by key
		assert.EqualValues(t, shape, out[i].Shape())
	}

	input := func(name string, shape ...int) *layers.KerasTensor {
		return keras.Input(keras.Shape(shape...), keras.InputName(name))
	}
	images, boxes, labels, masks := input("images", 8, 12, 3), input("boxes", 2, 4), input("labels", 5), input("masks", 8, 12, 1)
	classes := keras.Input(keras.Shape(2), keras.InputName("box_labels"), keras.DType("int32"))
	y := layers.ApplyAll(&layers.RandomFlip{Name: "random_flip", BoundingBoxFormat: "xywh"}, images, boxes, classes, labels, masks)
	require.Len(t, y, 5)
	for i, of := range []*layers.KerasTensor{images, boxes, classes, labels, masks} { // in the given order
		assert.Equal(t, of.Shape(), y[i].Shape())
	}
	ours, err := keras.NewFunctional(keras.Inputs(images, boxes, classes, labels, masks), keras.Outputs(y...))
	require.NoError(t, err)
	written, err := ours.ToJSON()
	require.NoError(t, err)
	assert.Equal(t, flipCall(t, document), flipCall(t, written))
}

// flipCall returns the positional arguments of the call of random_flip in a document.
func flipCall(t *testing.T, document []byte) any {
	t.Helper()
	var d struct {
		Config struct {
			Layers []struct {
				Name    string `json:"name"`
				Inbound []struct {
					Args []any `json:"args"`
				} `json:"inbound_nodes"`
			} `json:"layers"`
		} `json:"config"`
	}
	require.NoError(t, json.Unmarshal(document, &d))
	for _, l := range d.Config.Layers {
		if l.Name == "random_flip" {
			return l.Inbound[0].Args
		}
	}
	t.Fatal("there is no layer random_flip")
	return nil
}
