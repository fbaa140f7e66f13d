package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// sharedCase is what shared.py drew: models over the same layers, and calls on them, with what Keras has in all models
// after each of them.
type sharedCase struct {
	Number int
	Policy string // "": float64
	Model  json.RawMessage
	Made   []struct {
		Kind, Layer string
		Units       int
	}
	Seed   uint64 // of the weights of the whole model
	Norm   bool
	Models []struct {
		Data   []struct{ X, Y, W []spec }
		Config json.RawMessage
		Seed   uint64
	}
	Calls []struct {
		Of        int
		Name      string
		Arguments callArguments
		Answer    struct {
			callAnswer
			All [][][]number // of what each model predicts, as digest makes them
		}
	}
}

// TestShared makes calls on models that share layers. RANDOM_SHARED is another file of cases.
func TestShared(t *testing.T) {
	checkAll[*sharedCase](t, "RANDOM_SHARED", "testdata/shared.json.gz")
}

// TestFreshShared has shared.py draw.
func TestFreshShared(t *testing.T) {
	checkFresh[*sharedCase](t, "shared.py", "RANDOM_SHARED", "8")
}

func (c *sharedCase) number() int { return c.Number }

// check makes the calls on one device and, unless batch normalization sees less of a batch there, on two.
func (c *sharedCase) check(t *testing.T) string {
	return onOneAndTwo(t, !c.Norm, func(s distribute.Strategy) string { return (&sharedRun{c: c, t: t, strategy: s}).all() })
}

// sharedRun is a case on its way: one caller for each model.
type sharedRun struct {
	c        *sharedCase
	t        *testing.T
	strategy distribute.Strategy
	callers  []*caller
}

// build makes the models, as build of shared.py does.
func (r *sharedRun) build() error {
	whole := &caller{t: r.t, strategy: r.strategy}
	m := whole.read(r.c.Model)
	models := []*keras.Model{m}
	policy, input := "float64", "float64"
	if r.c.Policy != "" && r.c.Policy != policy {
		policy, input = r.c.Policy, "float32"
	}
	options := append(whole.scope(), keras.DTypePolicy(policy))
	for k, s := range r.c.Made {
		inputs, outputs := m.Inputs(), []*layers.KerasTensor{m.LayerOutput(s.Layer)}
		switch s.Kind {
		case "both":
			outputs = append(outputs, m.Outputs()...)
		case "top":
			outputs[0] = layers.Apply(&layers.Dense{Units: s.Units, Activation: "tanh", Name: fmt.Sprint("top", k)}, outputs[0])
		case "around":
			inputs = []*layers.KerasTensor{keras.Input(keras.Shape(m.Inputs()[0].Shape()[1:]...), keras.DType(input))}
			outputs[0] = layers.Apply(&layers.Dense{Units: s.Units, Name: fmt.Sprint("over", k)}, layers.ApplyAll(m, inputs...)[0])
		}
		other, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(outputs...), options...)
		if err != nil {
			return err
		}
		models = append(models, other)
	}
	for i, m := range models {
		c := &sequence{Norm: r.c.Norm, Wide: policy == "float64", Exact: true, Data: r.c.Models[i].Data}
		r.callers = append(r.callers, &caller{c: c, t: r.t, m: m, strategy: r.strategy, rough: map[string]float64{"mixed_bfloat16": 0.1}[policy]})
	}
	return nil
}

func (r *sharedRun) all() string {
	if err := r.build(); err != nil {
		return err.Error()
	}
	for i, one := range r.callers {
		seed := r.c.Seed
		if i > 0 {
			seed = r.c.Models[i].Seed
		}
		if err := setWeights(one.m, seed); err != nil {
			return err.Error()
		}
		if err := one.compile(r.c.Models[i].Config); err != nil {
			return err.Error()
		}
	}
	for i := range r.c.Calls {
		call := &r.c.Calls[i]
		one := r.callers[call.Of]
		var text string
		var err error
		if call.Name == "trainable" {
			r.freeze(call.Arguments.Layer, !call.Arguments.On)
		} else {
			text, err = one.call(call.Name, &call.Arguments, &call.Answer.callAnswer)
		}
		if call.Answer.Error != "" {
			return ""
		}
		if err != nil {
			text = err.Error()
		}
		if text == "" {
			text = one.state(&call.Answer.callAnswer)
		}
		if text == "" {
			text = r.predict(call.Answer.All)
		}
		if text != "" {
			return fmt.Sprintf("call %d, %s of model %d: %s", i, call.Name, call.Of, text)
		}
	}
	return ""
}

// freeze freezes a layer of any of the models.
func (r *sharedRun) freeze(name string, frozen bool) {
	for _, one := range r.callers {
		if l := one.layer(name); l != nil {
			r.callers[0].freeze(l, frozen)
			return
		}
	}
}

// predict compares what all models predict, twice: from the second time on, predictions keep weights in other forms.
func (r *sharedRun) predict(want [][][]number) string {
	for i, one := range slices.Concat(r.callers, r.callers) {
		i %= len(r.callers)
		out, err := one.m.PredictAll(context.Background(), one.source(0, false))
		if err != nil {
			return err.Error()
		}
		if text := one.same(out, want[i]); text != "" {
			return fmt.Sprintf("prediction of model %d: %s", i, text)
		}
	}
	return ""
}
