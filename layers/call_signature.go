package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// callSignatures lists the parameters of the calls of Keras's layers, in order, if there are others than the inputs and
// training. Arguments are recognized by these names, never by their types. A layer that is not listed takes any number
// of inputs.
var callSignatures = map[string]string{
	"AdditiveAttention":      "inputs mask training return_attention_scores use_causal_mask",
	"Attention":              "inputs mask training return_attention_scores use_causal_mask",
	"BatchNormalization":     "inputs training mask",
	"Bidirectional":          "sequences initial_state mask training",
	"CategoryEncoding":       "inputs count_weights",
	"ConvLSTM1D":             "sequences initial_state mask training",
	"ConvLSTM2D":             "sequences initial_state mask training",
	"ConvLSTM3D":             "sequences initial_state mask training",
	"GRU":                    "sequences initial_state mask training",
	"GRUCell":                "inputs states training",
	"GlobalAveragePooling1D": "inputs mask",
	"GroupedQueryAttention":  "query value key query_mask value_mask key_mask attention_mask return_attention_scores training use_causal_mask",
	"LSTM":                   "sequences initial_state mask training",
	"LSTMCell":               "inputs states training",
	"MultiHeadAttention":     "query value key query_mask value_mask key_mask attention_mask return_attention_scores training use_causal_mask",
	"Pipeline":               "inputs training mask",
	"RNN":                    "sequences initial_state mask training",
	"ReversibleEmbedding":    "inputs reverse",
	"SimpleRNN":              "sequences initial_state mask training",
	"SimpleRNNCell":          "sequence states training",
	"Softmax":                "inputs mask",
	"StackedRNNCells":        "inputs states training",
	"TimeDistributed":        "inputs training mask",
}

// modelSignature is the signature of models inside models.
const modelSignature = "inputs training mask"

// CallParameters returns the names of the arguments of a layer's call in Keras, in positional order; nil for layers
// that take only inputs.
func CallParameters(l Layer) []string {
	if _, ok := l.(Container); ok {
		return strings.Fields(modelSignature)
	}
	if IsNil(l) || callSignatures[ClassName(l)] == "" {
		return nil
	}
	return strings.Fields(callSignatures[ClassName(l)])
}

// isMaskName reports whether an argument is a mask of an input; an attention_mask is an input of its own.
func isMaskName(name string) bool {
	return name == "mask" || strings.HasSuffix(name, "_mask") && name != "attention_mask" && name != "use_causal_mask"
}

// callerDecides lists arguments of calls in Keras that are not settings of the layer here. For training see
// [ApplyWith].
var callerDecides = []string{"training", "name"}

// namedArguments returns the arguments of a call by name. For layers without a signature they are named "inputs".
type namedArguments struct {
	values     map[string]any
	positional []string // names of those that were given by position
}

// nameArguments assigns names to the arguments of a call.
func nameArguments(l Layer, a Arguments) (namedArguments, error) {
	n := namedArguments{values: map[string]any{}}
	params := CallParameters(l)
	maps.Copy(n.values, a.Keywords)
	if params == nil {
		if _, twice := n.values["inputs"]; twice && len(a.Positional) > 0 {
			return n, fmt.Errorf("its inputs are given by position and by name")
		}
		if len(a.Positional) > 0 {
			n.values["inputs"] = a.Positional
		}
		return n, nil
	}
	if len(a.Positional) > len(params) {
		return n, fmt.Errorf("its call takes at most %d arguments (%s), received %d", len(params), strings.Join(params, ", "), len(a.Positional))
	}
	for i, v := range a.Positional {
		if _, twice := n.values[params[i]]; twice {
			return n, fmt.Errorf("its argument %q is given by position and by name", params[i])
		}
		n.values[params[i]] = v
	}
	n.positional = params[:len(a.Positional)]
	return n, nil
}

// literals checks the arguments that are not tensors, so that a value that calls of this layer do not support is not
// silently lost.
func (n namedArguments) literals(l Layer) error {
	known := CallArguments(l)
	for _, name := range slices.Sorted(maps.Keys(n.values)) {
		v := n.values[name]
		switch {
		case v == nil || v == false || slices.Contains(callerDecides, name) || IsCallArgument(l, name):
			continue
		case !isLiteral(v):
			continue
		case !slices.ContainsFunc(callFields(l), func(f callField) bool { return f.name == name }):
			return fmt.Errorf("its call takes no argument %q, received %v", name, v)
		case !sameSetting(known[name], v):
			return fmt.Errorf("its call has %s=%v, which belongs to the layer here and is %v there; set it with SetCallArgument", name, v, known[name])
		}
	}
	return nil
}

// sameSetting compares the value in a call with the layer's setting. As in Python, a number can stand for a truth
// value.
func sameSetting(known, v any) bool {
	truth, _ := known.(bool)
	if _, ok := known.(bool); ok || known == nil {
		switch n := v.(type) {
		case int64:
			return (n != 0) == truth
		case float64:
			return (n != 0) == truth
		}
	}
	return known == v
}

func isLiteral(v any) bool {
	switch v.(type) {
	case bool, int64, float64, string, Slice, EllipsisType:
		return true
	}
	return false
}
