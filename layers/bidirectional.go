package layers

import (
	"reflect"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/keras/ops"
)

// Bidirectional runs a recurrent layer over a sequence in both directions and merges the results.
//
// Inputs: those of the layer; initial states are the forward ones, then the backward ones. The backward layer is a copy of the
// forward one with GoBackwards turned around, unless given. Results with all steps are in the order of the input. Behaviour is
// that of keras.layers.Bidirectional.
type Bidirectional struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer         Layer `keras:"layer"`          // SimpleRNN, LSTM, GRU or RNN; required
	BackwardLayer Layer `keras:"backward_layer"` // nil: made from Layer
	// MergeMode is "concat" (the default), "sum", "mul", "ave", or "none", which leaves both results apart.
	MergeMode string `keras:"merge_mode,default=concat"`

	forward, backward Layer
	settings          recurrentSettings
}

// recurrentSettings are the fields of a recurrent layer that Bidirectional has to know.
type recurrentSettings struct{ sequences, state, backwards bool }

func settingsOf(l Layer) recurrentSettings {
	v := reflect.ValueOf(l)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	flag := func(name string) bool {
		f := v.FieldByName(name)
		return f.IsValid() && f.Kind() == reflect.Bool && f.Bool()
	}
	return recurrentSettings{flag("ReturnSequences"), flag("ReturnState"), flag("GoBackwards")}
}

// copyConfig returns a new layer of the same type with the same exported fields. Layers among them are copied as well.
func copyConfig(l Layer) Layer {
	from := reflect.ValueOf(l).Elem()
	to := reflect.New(from.Type())
	for i := range from.NumField() {
		f := from.Type().Field(i)
		if !f.IsExported() || f.Type == reflect.TypeFor[Base]() {
			continue
		}
		to.Elem().Field(i).Set(copyValue(from.Field(i)))
	}
	return to.Interface().(Layer)
}

func copyValue(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Interface && !v.IsNil() && v.Elem().Type().Implements(layerType):
		return reflect.ValueOf(copyConfig(v.Interface().(Layer)))
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Implements(layerType):
		return reflect.ValueOf(copyConfig(v.Interface().(Layer)))
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Implements(layerType):
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyValue(v.Index(i)))
		}
		return out
	}
	return v
}

// Build makes the backward layer and the variables of both.
func (l *Bidirectional) Build(b *Builder, in []ir.Shape) {
	if l.Layer == nil {
		b.Fail("Layer is nil; set layers.Bidirectional{Layer: &layers.LSTM{Units: n}}")
	}
	switch l.MergeMode {
	case "", "concat", "sum", "mul", "ave", "none":
	default:
		b.Fail("unknown MergeMode %q; use \"concat\", \"sum\", \"mul\", \"ave\" or \"none\"", l.MergeMode)
	}
	l.settings = settingsOf(l.Layer)
	l.forward, l.backward = l.Layer, l.BackwardLayer
	prefix := Name(l.forward)
	if l.backward == nil {
		l.backward = copyConfig(l.Layer)
		f := reflect.ValueOf(l.backward).Elem().FieldByName("GoBackwards")
		if !f.IsValid() {
			b.Fail("%s cannot run backwards; use SimpleRNN, LSTM, GRU or RNN, or give BackwardLayer", ClassName(l.Layer))
		}
		f.SetBool(!l.settings.backwards)
		reflect.ValueOf(l.backward).Elem().FieldByName("Name").SetString("backward_" + prefix)
		b.Adopt(l.backward)
	}
	if settingsOf(l.backward) != (recurrentSettings{l.settings.sequences, l.settings.state, !l.settings.backwards}) {
		b.Fail("BackwardLayer must have the ReturnSequences and ReturnState of Layer and the opposite GoBackwards")
	}
	b.BuildMember(l.forward, in[0])
	b.BuildMember(l.backward, in[0])
}

// Forward runs both directions.
func (l *Bidirectional) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	forwardIn, backwardIn := in[:1:1], in[:1:1]
	if states := in[1:]; len(states) > 0 {
		half := len(states) / 2
		if len(states)%2 != 0 {
			ops.Failf(c.Graph(), "takes as many initial states for the backward as for the forward direction, received %d in all", len(states))
		}
		forwardIn, backwardIn = append(forwardIn, states[:half]...), append(backwardIn, states[half:]...)
	}
	f, r := InvokeAll(l.forward, c, forwardIn...), InvokeAll(l.backward, c, backwardIn...)
	if l.settings.sequences {
		r[0] = ops.Flip(r[0], 1)
	}
	out := l.merge(f[0], r[0])
	return append(append(out, f[1:]...), r[1:]...)
}

func (l *Bidirectional) merge(f, r *ops.Tensor) []*ops.Tensor {
	switch l.MergeMode {
	case "sum":
		return []*ops.Tensor{ops.Add(f, r)}
	case "mul":
		return []*ops.Tensor{ops.Multiply(f, r)}
	case "ave":
		return []*ops.Tensor{ops.DivideScalar(ops.Add(f, r), 2)}
	case "none":
		return []*ops.Tensor{f, r}
	}
	return []*ops.Tensor{ops.Concatenate(-1, f, r)}
}

// ComputeMask hands the mask of the input on to results with all steps.
func (l *Bidirectional) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	if l.settings.sequences {
		masks[0] = in[0].Mask()
		if l.MergeMode == "none" {
			masks[1] = in[0].Mask()
		}
	}
	return masks
}

// Call applies the layer inside a trace; [InvokeAll] returns all results.
func (l *Bidirectional) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

func init() { Register[Bidirectional]() }
