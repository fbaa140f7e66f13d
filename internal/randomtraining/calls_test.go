package randomtraining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// sequence is what calls.py drew: calls on one model, with what Keras has after each of them.
type sequence struct {
	Number         int
	Model          json.RawMessage
	Seed           uint64 // of the weights
	Stateful, Norm bool
	Wide           bool // float64
	Exact          bool // its constants, too
	Data           []struct{ X, Y, W []spec }
	Calls          []struct {
		Name      string
		Arguments callArguments
		Answer    callAnswer
	}
}

// callArguments are those of any call.
type callArguments struct {
	fitArguments
	Data          int
	Lo, Hi        int
	Weights       bool
	ClassWeight   map[string]float64 `json:"class_weight"`
	Config        json.RawMessage
	Seed          uint64
	Rate          float64
	Layer         string
	On            bool
	Kind, Mode    string
	Rank          int
	Alpha         float64
	Validation    *int
	WeightsInSets bool `json:"validation_weights"`
	Callbacks     []struct {
		Class    string
		Settings json.RawMessage
	}
	Backup    json.RawMessage
	Interrupt int
}

// callAnswer is what a call returned, and what the model is after it.
type callAnswer struct {
	Error       string
	History     map[string][][]number
	Epochs      []int
	Scores      map[string][]number
	Predictions []result
	State       struct{ Weights, Slots [][]number }
}

// caller makes the calls of a sequence.
type caller struct {
	c        *sequence
	t        *testing.T
	m        *keras.Model
	strategy distribute.Strategy
	narrow   bool    // part of the model is float32
	rough    float64 // a tolerance of its own, unless it is 0
	freezes  int     // calls that froze or thawed
	trained  bool    // the optimizer has slots
	other    bool    // and was given them when other layers were frozen, as a program that starts again does not know
}

// TestSequences makes sequences of calls that calls.py drew, and compares what is in the model after each call with
// Keras. RANDOM_CALLS is another file of sequences.
func TestSequences(t *testing.T) {
	checkAll[*sequence](t, "RANDOM_CALLS", "testdata/calls.json.gz")
}

// TestFreshSequences draws sequences of calls. RANDOM_CALLS_COUNT is how many, RANDOM_CALLS_SEED the first seed.
func TestFreshSequences(t *testing.T) { checkFresh[*sequence](t, "calls.py", "RANDOM_CALLS", "10") }

func (c *sequence) number() int { return c.Number }

// check makes the calls on one device and, unless batch normalization sees less of a batch there, on two.
func (c *sequence) check(t *testing.T) string {
	return onOneAndTwo(t, !c.Stateful && !c.Norm, func(s distribute.Strategy) string { return (&caller{c: c, t: t, strategy: s}).all() })
}

// onOneAndTwo runs a case on one device and, if it may, on two, and returns what is wrong.
func onOneAndTwo(t *testing.T, two bool, run func(distribute.Strategy) string) string {
	if text := run(nil); text != "" || !two {
		return text
	}
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	if text := run(s); text != "" {
		return "on two devices: " + text
	}
	return ""
}

func (r *caller) all() string {
	r.m = r.read(r.c.Model)
	if err := setWeights(r.m, r.c.Seed); err != nil {
		return err.Error()
	}
	for i, call := range r.c.Calls {
		text, err := r.call(call.Name, &call.Arguments, &call.Answer)
		if call.Answer.Error != "" {
			if err == nil && strings.Contains(call.Answer.Error, "Unknown variable") {
				return fmt.Sprintf("call %d, %s: Keras refuses: %s", i, call.Name, call.Answer.Error)
			}
			return ""
		}
		if err != nil {
			text = err.Error()
		}
		if text == "" {
			text = r.state(&call.Answer)
		}
		if text != "" {
			return fmt.Sprintf("call %d, %s: %s", i, call.Name, text)
		}
	}
	return ""
}

func (r *caller) scope() []keras.Option {
	if r.strategy == nil {
		return nil
	}
	return []keras.Option{distribute.Scope(r.strategy)}
}

func (r *caller) read(document []byte) *keras.Model {
	m, err := keras.ModelFromJSON(document, r.scope()...)
	require.NoError(r.t, err)
	return m
}

func (r *caller) source(k int, weights bool) *data.ArraySource {
	d := r.c.Data[k]
	if !weights {
		d.W = nil
	}
	return source(r.t, r.m, d.X, d.Y, d.W)
}

func classes(weights map[string]float64) map[int]float64 {
	out := map[int]float64{}
	for k, v := range weights {
		out[int(k[0]-'0')] = v
	}
	return out
}

// call makes a call and compares what it returns.
func (r *caller) call(name string, a *callArguments, want *callAnswer) (string, error) {
	ctx := context.Background()
	switch name {
	case "compile":
		return "", r.compile(a.Config)
	case "fit":
		text, err := r.fit(a, want)
		r.trained = true
		return text, err
	case "evaluate":
		var options []keras.EvaluateOption
		if a.BatchSize > 0 {
			options = append(options, keras.BatchSize(a.BatchSize))
		}
		logs, err := r.m.EvaluateLogs(ctx, r.source(a.Data, a.Weights), options...)
		if err != nil {
			return "", err
		}
		for name, w := range want.Scores {
			if text := near(logs.Vector(name), w, r.tolerance()); text != "" {
				return name + ": " + text, nil
			}
		}
		return "", nil
	case "predict":
		var options []keras.PredictOption
		if a.BatchSize > 0 {
			options = append(options, keras.BatchSize(a.BatchSize))
		}
		out, err := r.m.PredictAll(ctx, r.source(a.Data, false), options...)
		return r.predicted(out, want), err
	case "predict_on_batch":
		if s := r.source(a.Data, false).Slice(a.Lo, a.Hi); len(r.m.Outputs()) == 1 {
			out, err := r.m.PredictOnBatch(ctx, s)
			return r.predicted([]data.Array{out}, want), err
		} else {
			out, err := r.m.PredictAll(ctx, s)
			return r.predicted(out, want), err
		}
	case "train_on_batch", "test_on_batch":
		return r.onBatch(name, a, want)
	}
	return "", r.change(name, a)
}

func (r *caller) onBatch(name string, a *callArguments, want *callAnswer) (text string, err error) {
	s := r.source(a.Data, a.Weights).Slice(a.Lo, a.Hi)
	r.trained = r.trained || name == "train_on_batch"
	var scores map[string]float64
	if name == "test_on_batch" {
		scores, err = r.m.TestOnBatch(context.Background(), s)
	} else if a.ClassWeight != nil {
		scores, err = r.m.TrainOnBatch(context.Background(), s, keras.ClassWeight(classes(a.ClassWeight)))
	} else {
		scores, err = r.m.TrainOnBatch(context.Background(), s)
	}
	if err != nil {
		return "", err
	}
	for name, w := range want.Scores {
		if len(w) > 1 {
			continue // a vector has no place here
		}
		if text := near([]float64{scores[name]}, w, r.tolerance()); text != "" {
			return name + ": " + text, nil
		}
	}
	return "", nil
}

// freeze sets the field of the layer, every other time.
func (r *caller) freeze(l layers.Layer, frozen bool) {
	r.freezes++
	r.other = r.other || r.trained
	if f := reflect.ValueOf(l).Elem().FieldByName("Frozen"); f.IsValid() && r.freezes%2 == 1 {
		f.SetBool(frozen)
		return
	}
	layers.SetTrainable(l, !frozen)
}

// change makes a call that returns nothing.
func (r *caller) change(name string, a *callArguments) error {
	switch name {
	case "set_weights":
		return setWeights(r.m, a.Seed)
	case "set_rate":
		return r.m.SetLearningRate(a.Rate)
	case "trainable":
		r.freeze(r.layer(a.Layer), !a.On)
		return nil
	case "file":
		return r.file(a)
	case "reset":
		var failed error
		layers.Walk(r.m, func(l layers.Layer) {
			if l, ok := l.(layers.StateResetter); ok {
				failed = errors.Join(failed, l.ResetState())
			}
		})
		return failed
	case "quantize":
		return r.m.Quantize(a.Mode)
	case "lora":
		r.narrow = true
		return r.lora(a)
	}
	return errors.New("no such call")
}

func (r *caller) layer(name string) (found layers.Layer) {
	layers.Walk(r.m, func(l layers.Layer) {
		if layers.Name(l) == name && found == nil {
			found = l
		}
	})
	return found
}
