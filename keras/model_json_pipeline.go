package keras

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// buildPipeline writes what the layers of a pipeline were built with: each with the result of the previous one.
func buildPipeline(object map[string]any, l layers.Layer, input []any) {
	p, ok := l.(*layers.Pipeline)
	if !ok {
		return
	}
	c, _ := object["config"].(map[string]any)
	list, _ := c["layers"].([]any)
	if len(list) != len(p.Layers) {
		return
	}
	shape := make(ir.Shape, len(input))
	for i, n := range input {
		shape[i] = layers.Unknown
		if n, ok := n.(int); ok {
			shape[i] = n
		}
	}
	for i, member := range p.Layers {
		o, ok := list[i].(map[string]any)
		if !ok {
			return
		}
		if !slices.Contains(builtAtOnce, layers.ClassName(member)) {
			o["build_config"] = map[string]any{"input_shape": shapeList(shape)}
		}
		out, err := layers.InferTypes(member, []ir.Type{{DType: ir.Float32, Shape: shape}})
		if err != nil { // the model itself reports it
			return
		}
		shape = out[0].Shape
	}
}
