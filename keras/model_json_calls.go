package keras

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// takesList are the classes of layers whose call takes a list of tensors, even for a single one.
var takesList = []string{"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "Attention", "AdditiveAttention"}

// takesState are the classes of layers whose call takes the initial state after the sequence.
var takesState = []string{"RNN", "SimpleRNN", "LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Bidirectional"}

// takesQuery are the classes of layers whose call takes query, value and key.
var takesQuery = []string{"MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"}

// builtAtOnce are the classes of layers that Keras considers built before they know their input, so no shape is stored
// for them.
var builtAtOnce = []string{
	"Activation", "ELU", "LeakyReLU", "ReLU", "Softmax", "Identity", "Masking", "UnitNormalization", "Reshape", "ActivityRegularization",
	"Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D",
	"MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D",
	"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
}

// builtOnFirst are the classes of layers that are built for their first input only, whatever else their call takes.
var builtOnFirst = []string{"CategoryEncoding", "SimpleRNNCell", "LSTMCell", "GRUCell", "StackedRNNCells"}

// lookups are the classes of layers whose state does not depend on a shape.
var lookups = []string{"IntegerLookup", "StringLookup"}

// buildInner adds what Keras stores about the layers wrapped by an object's layer, for an input of the given shape.
func buildInner(object map[string]any, input []any) {
	c, _ := object["config"].(map[string]any)
	inner := input
	switch object["class_name"] {
	case "TimeDistributed", "RNN":
		if len(input) < 2 {
			return
		}
		inner = slices.Delete(slices.Clone(input), 1, 2)
	case "Bidirectional", "SpectralNormalization":
	default:
		return
	}
	for _, key := range []string{"layer", "backward_layer", "cell"} {
		if o, ok := c[key].(map[string]any); ok && o["class_name"] != nil {
			if class, _ := o["class_name"].(string); !slices.Contains(builtAtOnce, class) {
				o["build_config"] = map[string]any{"input_shape": inner}
			}
			buildInner(o, inner)
		}
	}
}

// buildConfig returns what Keras stores about the shapes that a layer was built with, or nil.
func buildConfig(l layers.Layer, inputs [][]any) map[string]any {
	class := layers.ClassName(l)
	if len(inputs) == 0 || slices.Contains(builtAtOnce, class) {
		return nil
	}
	shapes := map[string]any{}
	switch {
	case slices.Contains(lookups, class):
		return shapes
	case slices.Contains(takesQuery, class):
		for i, name := range []string{"query_shape", "value_shape", "key_shape"} {
			if i < len(inputs) {
				shapes[name] = inputs[i]
			}
		}
		return map[string]any{"shapes_dict": shapes}
	case slices.Contains(takesState, class) && len(inputs) > 1:
		shapes["sequences_shape"], shapes["initial_state_shape"] = inputs[0], inputs[1:]
		return map[string]any{"shapes_dict": shapes}
	case len(inputs) > 1 && !slices.Contains(builtOnFirst, class) || slices.Contains(takesList, class):
		return map[string]any{"input_shape": inputs}
	}
	return map[string]any{"input_shape": inputs[0]}
}

// callObject describes one call of a layer.
func callObject(n *layers.Node, history func(*layers.KerasTensor) []any) (map[string]any, error) {
	a, recorded := n.Arguments()
	if !recorded {
		a = keysOfCall(n)
	}
	args, err := encodeArgument(append([]any{}, a.Positional...), history)
	if err != nil {
		return nil, err
	}
	named := map[string]any{}
	for key, v := range a.Keywords {
		named[key] = v
	}
	if _, isOperation := n.Layer.(*layers.Operation); !isOperation {
		given := layers.CallParameters(n.Layer)
		given = given[:min(len(given), len(a.Positional))]
		for key, v := range layers.CallArguments(n.Layer) {
			if !slices.Contains(given, key) {
				named[key] = v
			}
		}
	}
	kwargs, err := encodeArgument(named, history)
	o := map[string]any{"args": args, "kwargs": kwargs}
	if a.Keywords["training"] != nil && !a.TrainingYields {
		o["training_holds"] = true
	}
	return o, err
}

// keysOfCall puts the tensors of a call into the form in which the Keras layer takes them.
func keysOfCall(n *layers.Node) layers.Arguments {
	class, inputs := layers.ClassName(n.Layer), n.Operands()
	all := make([]any, len(inputs))
	for i, o := range inputs {
		all[i] = o.Tensor
	}
	named := layers.Keywords{}
	isMask := func(i int) bool { return i < len(inputs) && inputs[i].DType() == ir.Bool }
	if m, ok := n.Layer.(*Model); ok {
		if f, ok := m.topology.(*functional); ok && f.in.names != nil {
			byName := map[string]any{}
			for i, name := range f.in.names {
				byName[name] = all[i]
			}
			return layers.Arguments{Positional: []any{byName}}
		}
	}
	switch {
	case slices.Contains(takesQuery, class):
		if last := len(all) - 1; last >= 2 && (isMask(last) || last == 3) {
			named["attention_mask"], all = all[last], all[:last]
		}
		return layers.Arguments{Positional: all, Keywords: named}
	case slices.Contains(takesState, class) && len(all) > 1:
		if last := len(all) - 1; isMask(last) {
			named["mask"], all = all[last], all[:last]
		}
		if len(all) > 1 {
			named["initial_state"] = all[1:]
		}
		return layers.Arguments{Positional: all[:1], Keywords: named}
	case class == "CategoryEncoding" && len(all) == 2:
		return layers.Arguments{Positional: all[:1], Keywords: layers.Keywords{"count_weights": all[1]}}
	case len(all) > 1 || slices.Contains(takesList, class):
		return layers.Arguments{Positional: []any{all}}
	}
	return layers.Arguments{Positional: all}
}
