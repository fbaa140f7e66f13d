package layers

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Bidirectional runs a recurrent layer over a sequence in both directions and merges the results.
//
// Inputs: x (batch, steps, features), optionally initial states (the forward ones, then the backward ones), and last
// optionally a bool mask (batch, steps). Results: the merged result, or with MergeMode "none" the forward and the
// backward one; with ReturnState of the layer the last forward states and then the backward ones. Results with all
// steps are in the order of the input.
//
// Layer becomes the forward layer, and its name is prefixed with "forward_". Unless a backward layer is given, it is
// made from a copy of Layer's configuration that runs backwards. In results with all steps, masked steps are zero,
// whatever the layers' ZeroOutputForMask says. Behaviour is that of keras.layers.Bidirectional. Source: Schuster,
// Paliwal, "Bidirectional Recurrent Neural Networks", 1997.
type Bidirectional struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer         Layer `keras:"layer,required"` // SimpleRNN, LSTM, GRU or RNN; required
	BackwardLayer Layer `keras:"backward_layer"` // nil: made from Layer
	// MergeMode is "concat" (the default), "sum", "mul", "ave", or "none" (null in Keras), which leaves both results
	// apart.
	MergeMode MergeMode `keras:"merge_mode,default=concat"`

	forward, backward Layer
	settings          recurrentSettings
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
	l.forward, l.backward = l.Layer, l.BackwardLayer
	name := Name(l.forward)
	if l.backward == nil {
		l.backward = l.turnAround(b, name)
	}
	l.forward.base().name = "forward_" + strings.TrimPrefix(name, "forward_")
	l.settings = settingsOf(l.forward)
	want := l.settings
	want.backwards = !want.backwards
	if got := settingsOf(l.backward); got != want {
		b.Fail("the backward layer must have the ReturnSequences, ReturnState and Stateful of the forward one and the opposite GoBackwards; received %+v and %+v", l.settings, got)
	}
	b.adoptOnly(l.forward, l.backward)
	for _, m := range []Layer{l.forward, l.backward} {
		b.BuildMember(m, in[0])
		if r, ok := m.(recurrentLayer); ok {
			r.recurrence().zeros = l.settings.sequences
		}
	}
}

// turnAround returns a copy of the forward layer that runs backwards.
func (l *Bidirectional) turnAround(b *Builder, name string) Layer {
	backward := copyConfig(l.Layer)
	v := reflect.ValueOf(backward).Elem()
	f := v.FieldByName("GoBackwards")
	if !f.IsValid() || f.Kind() != reflect.Bool {
		b.Fail("%s cannot run backwards; use SimpleRNN, LSTM, GRU or RNN, or give BackwardLayer", ClassName(l.Layer))
	}
	f.SetBool(true)
	backward.base().name = "backward_" + strings.TrimPrefix(name, "backward_")
	return backward
}

// copyConfig returns a new layer of the same type with the same exported fields and name, frozen as l is. Layers among
// the fields are copied as well.
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
	made := to.Interface().(Layer)
	attach(made).name = attach(l).name
	attach(made).freeze(attach(l).frozen)
	return made
}

func copyValue(v reflect.Value) reflect.Value {
	switch {
	case (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil() && v.CanInterface():
		if l, ok := v.Interface().(Layer); ok {
			return reflect.ValueOf(copyConfig(l))
		}
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Implements(layerType):
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyValue(v.Index(i)))
		}
		return out
	}
	return v
}

// Forward runs both directions.
func (l *Bidirectional) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x, states, mask := recurrentInputs(in)
	if len(states)%2 != 0 {
		ops.Failf(c.Graph(), "takes as many initial states for the backward as for the forward direction, received %d in all", len(states))
	}
	half := len(states) / 2
	run := func(m Layer, states []*ops.Tensor) []*ops.Tensor {
		inputs := append([]*ops.Tensor{x}, states...)
		if mask != nil && mask != x.Mask() {
			inputs = append(inputs, mask)
		}
		return InvokeAll(m, c, inputs...)
	}
	f, r := run(l.forward, states[:half]), run(l.backward, states[half:])
	for _, y := range [][]*ops.Tensor{f, r} {
		y[0] = ops.Cast(y[0], c.ComputeDType())
	}
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

// ComputeMask passes the mask of the input on to results with all steps.
func (l *Bidirectional) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	if l.settings.sequences {
		masks[0] = outputMask(in)
		if l.MergeMode == "none" {
			masks[1] = masks[0]
		}
	}
	return masks
}

// ResetState sets the states that Stateful layers keep between batches to zero.
func (l *Bidirectional) ResetState() error {
	for _, m := range Sublayers(l) {
		if r, ok := m.(StateResetter); ok {
			if err := r.ResetState(); err != nil {
				return err
			}
		}
	}
	return nil
}

// MemberAttributes names both directions as Keras files do.
func (l *Bidirectional) MemberAttributes() []string {
	return []string{"forward_layer", "backward_layer"}
}

// MigrateConfig reads the merge mode null.
func (l *Bidirectional) MigrateConfig(keys map[string]json.RawMessage) error {
	if raw, ok := keys["merge_mode"]; ok && strings.TrimSpace(string(raw)) == "null" {
		keys["merge_mode"] = json.RawMessage(`"none"`)
	}
	return nil
}

// adjustConfig writes the merge mode null and the backward layer that Build made.
func (l *Bidirectional) adjustConfig(c map[string]any) error {
	if l.MergeMode == "none" {
		c["merge_mode"] = nil
	}
	if l.BackwardLayer == nil && l.backward != nil {
		o, err := ToObject(l.backward)
		if err != nil {
			return err
		}
		c["backward_layer"] = o
	}
	return nil
}

func init() { Register[Bidirectional]() }
