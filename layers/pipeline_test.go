package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func TestPipelineMistakes(t *testing.T) {
	for want, l := range map[string]*layers.Pipeline{"Layers is empty": {}, "layer 0 is nil": {Layers: []layers.Layer{nil}}} {
		_, err := evaluate(l, false, []tensor{in(ir.Shape{1, 2})})
		assert.ErrorContains(t, err, want)
	}
}

func ExamplePipeline() {
	show(&layers.Pipeline{Layers: []layers.Layer{&layers.Rescaling{Scale: []float64{0.5}}, &layers.CenterCrop{Height: 1, Width: 1}}}, in(ir.Shape{1, 3, 3, 1}))
	// Output: (1, 1, 1, 1) [2.5]
}
