package randomtraining

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// structure is what a component of the data is: nothing, an array, a list or a dict of arrays.
type structure struct {
	spec
	Spoil string
	List  []structure
	Dict  map[string]structure
}

// spoiltCall is a call that inputs.py drew, with what Keras answered.
type spoiltCall struct {
	Number     int
	Seed       uint64
	Name       string
	Generator  bool
	Batches    []map[string]*structure
	Validation map[string]*structure
	Spoilt     []string
	Model      json.RawMessage
	Options    spoiltOptions
	Answer     callAnswer
}

// spoiltOptions are those of any of the calls.
type spoiltOptions struct {
	BatchSize           *int64             `json:"batch_size,omitempty"`
	Epochs              *int               `json:"epochs,omitempty"`
	InitialEpoch        int                `json:"initial_epoch,omitempty"`
	Steps               int                `json:"steps,omitempty"`
	StepsPerEpoch       int                `json:"steps_per_epoch,omitempty"`
	ValidationSplit     float64            `json:"validation_split,omitempty"`
	ValidationFrequency *int               `json:"validation_freq,omitempty"`
	ValidationSteps     int                `json:"validation_steps,omitempty"`
	ValidationBatchSize int                `json:"validation_batch_size,omitempty"`
	ClassWeight         map[string]*number `json:"class_weight,omitempty"`
}

// TestSpoiltCalls makes calls with data and options that mostly do not fit: what Keras answers with numbers has the
// same ones here, and what cannot be answered is an error, not a panic or a wait. RANDOM_INPUTS is another file of
// calls.
func TestSpoiltCalls(t *testing.T) {
	checkAll[*spoiltCall](t, "RANDOM_INPUTS", "testdata/inputs.json.gz")
}

// TestFreshSpoiltCalls draws such calls. RANDOM_INPUTS_COUNT is how many, RANDOM_INPUTS_SEED the first seed.
func TestFreshSpoiltCalls(t *testing.T) {
	checkFresh[*spoiltCall](t, "inputs.py", "RANDOM_INPUTS", "50")
}

func (c *spoiltCall) number() int { return c.Number }

func (c *spoiltCall) check(t *testing.T) string {
	m, err := keras.ModelFromJSON(c.Model)
	require.NoError(t, err)
	require.NoError(t, setWeights(m, c.Seed))
	type outcome struct {
		text string
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{text: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
			}
			ended <- o
		}()
		o.text, o.err = c.call(m)
	}()
	var o outcome
	select {
	case o = <-ended:
	case <-time.After(time.Minute):
		return c.describe() + ": still running"
	}
	return c.judge(o.text, o.err)
}

func (c *spoiltCall) describe() string {
	o, _ := json.Marshal(c.Options)
	return fmt.Sprintf("%s (generator %v) with %q spoilt, options %s", c.Name, c.Generator, c.Spoilt, o)
}

// stricter are errors for what Keras takes: it broadcasts labels and weights, and does nothing in no or negative steps.
var stricter = []string{
	"neither may be negative", "expected at least 1", "expected a fraction of at least 0 and below 1", "the arrays hold no examples", "check the last layer's units and the labels' encoding",
	"every array needs the same number", "expected a leading axis", "expected at least one array", "expected one for each of the outputs", "the model has 1 inputs, received", "expected classes from 0 to", "expected one weight for each example", "expected integer class numbers of shape",
}

// refused are errors of Keras for what is right: it has one signature for all batches of a generator, takes no dict or
// weights of classes for one output and none from generators, takes a list of one array of labels for the array where
// classes have weights, and stumbles over no rows.
var refused = []string{
	"must have the same rank", "output_signature", "not supported for Python generator inputs", "tuple arity mismatch", "Expected an instance of", "same nested structure", "KeyError: 0",
	"Cannot convert 'out", "UnboundLocalError", "Generator yield", "IteratorGetNext", "can be converted to Python scalars",
}

// flattensNothing reports whether a batch without examples meets a Flatten: Keras does not know then how long an
// example is, and the next layer refuses it.
func (c *spoiltCall) flattensNothing() bool {
	return bytes.Contains(c.Model, []byte(`"Flatten"`)) && slices.ContainsFunc(c.Batches, func(b map[string]*structure) bool {
		return b["x"] != nil && len(b["x"].Shape) > 1 && b["x"].Shape[0] == 0
	})
}

// judge compares with Keras.
func (c *spoiltCall) judge(text string, err error) string {
	among := func(list []string, what string) bool {
		return slices.ContainsFunc(list, func(part string) bool { return strings.Contains(what, part) })
	}
	nothing := c.Name == "fit" && c.Answer.Error == "" && len(c.Answer.Epochs) == 0 // no epoch, for which Keras does not look at data
	switch {
	case err != nil && (strings.Contains(err.Error(), "panic") || !strings.HasPrefix(err.Error(), "keras: ") || strings.Count(err.Error(), "keras: ") > 1):
		text = "no error for a reader: " + err.Error()
	case err != nil && c.Answer.Error == "" && !nothing && !among(stricter, err.Error()):
		text = "Keras accepts it: " + err.Error()
	case err == nil && c.Answer.Error != "" && !among(refused, c.Answer.Error) && !c.flattensNothing():
		text = "accepted, but Keras refuses: " + c.Answer.Error
	case err != nil || c.Answer.Error != "":
		text = ""
	}
	if text == "" {
		return ""
	}
	return c.describe() + ": " + text
}

// call makes the call and compares what it returns.
func (c *spoiltCall) call(m *keras.Model) (string, error) {
	ctx, o := context.Background(), c.Options
	var ds data.Dataset = arraysOf(c.Batches[0], c.Name == "predict" || c.Name == "predict_on_batch")
	if c.Generator {
		ds = c.generated()
	}
	var batch []keras.LoopOption
	if o.BatchSize != nil && !c.Generator {
		batch = append(batch, keras.BatchSize(int(*o.BatchSize)))
	}
	want := &c.Answer
	switch c.Name {
	case "fit":
		return c.fit(m, ds, batch)
	case "evaluate":
		options := []keras.EvaluateOption{keras.Steps(o.Steps), quiet}
		for _, b := range batch {
			options = append(options, b)
		}
		logs, err := m.EvaluateLogs(ctx, ds, options...)
		if err != nil {
			return "", err
		}
		s := map[string]float64{}
		for _, name := range logs.Names() {
			s[name], _ = logs.Get(name)
		}
		return scored(s, want), nil
	case "predict":
		options := []keras.PredictOption{keras.Steps(o.Steps), quiet}
		for _, b := range batch {
			options = append(options, b)
		}
		out, err := m.PredictAll(ctx, ds, options...)
		return predictedLike(out, want), err
	case "predict_on_batch":
		if len(m.Outputs()) == 1 {
			out, err := m.PredictOnBatch(ctx, ds.(*data.ArraySource))
			return predictedLike([]data.Array{out}, want), err
		}
		out, err := m.PredictAll(ctx, ds, quiet, keras.BatchSize(1<<30))
		return predictedLike(out, want), err
	case "train_on_batch":
		options := []keras.TrainOnBatchOption{quiet}
		if o.ClassWeight != nil {
			options = append(options, c.classWeight())
		}
		s, err := m.TrainOnBatch(ctx, ds.(*data.ArraySource), options...)
		return scored(s, want), err
	}
	s, err := m.TestOnBatch(ctx, ds.(*data.ArraySource), quiet)
	return scored(s, want), err
}

func (c *spoiltCall) fit(m *keras.Model, ds data.Dataset, batch []keras.LoopOption) (string, error) {
	h, err := m.Fit(context.Background(), ds, c.fitOptions(batch)...)
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	if !slices.Equal(h.Epoch, c.Answer.Epochs) {
		return fmt.Sprintf("epochs %v, not %v", h.Epoch, c.Answer.Epochs), nil
	}
	for name := range c.Answer.History { // which class is the largest of NaN is anybody's guess
		if strings.HasSuffix(name, "accuracy") && slices.ContainsFunc(c.Answer.History["loss"], notANumber) {
			delete(c.Answer.History, name)
			delete(h.Logs, name)
		}
	}
	return differs(h, c.Answer.History), nil
}

var quiet = keras.ProgressOutput(discard{})

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (c *spoiltCall) classWeight() keras.TrainOption {
	weights := map[int]float64{}
	for k, v := range c.Options.ClassWeight {
		class, err := strconv.Atoi(k)
		if err != nil {
			panic(err)
		}
		weights[class] = float64(*v)
	}
	return keras.ClassWeight(weights)
}

func (c *spoiltCall) fitOptions(batch []keras.LoopOption) []keras.FitOption {
	o := c.Options
	options := []keras.FitOption{keras.Shuffle(false), quiet, keras.InitialEpoch(o.InitialEpoch), keras.StepsPerEpoch(o.StepsPerEpoch), keras.ValidationSteps(o.ValidationSteps), keras.ValidationBatchSize(o.ValidationBatchSize)}
	if !c.Generator {
		options = append(options, keras.ValidationSplit(o.ValidationSplit))
	}
	if o.Epochs != nil {
		options = append(options, keras.Epochs(*o.Epochs))
	}
	if o.ValidationFrequency != nil {
		options = append(options, keras.ValidationFrequency(*o.ValidationFrequency))
	}
	if o.ClassWeight != nil {
		options = append(options, c.classWeight())
	}
	if c.Validation != nil {
		options = append(options, keras.ValidationData(arraysOf(c.Validation, false)))
	}
	for _, b := range batch {
		options = append(options, b)
	}
	return options
}

func arraysOf(b map[string]*structure, inputs bool) *data.ArraySource {
	var options []data.ArrayOption
	if b["w"] != nil && !inputs {
		options = append(options, data.SampleWeight(b["w"].value()))
	}
	if inputs || b["y"] == nil {
		return data.Arrays(b["x"].value(), nil, options...)
	}
	return data.Arrays(b["x"].value(), b["y"].value(), options...)
}

// generated hands out the batches once, as a generator of Python does.
func (c *spoiltCall) generated() data.Dataset {
	return data.FromGenerator(func(_ context.Context, epoch int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			if epoch > c.Options.InitialEpoch {
				return
			}
			for _, b := range c.Batches {
				s := arraysOf(b, false)
				if err := s.Err(); err != nil {
					yield(data.Batch{}, err)
					return
				}
				if !yield(s.All(), nil) {
					return
				}
			}
		}
	})
}

// value is what Arrays is given.
func (s *structure) value() any {
	switch {
	case s == nil:
		return nil
	case s.Dict != nil:
		m := map[string]any{}
		for k, v := range s.Dict {
			m[k] = v.value()
		}
		return m
	case s.List != nil:
		var list []any
		for _, v := range s.List {
			list = append(list, v.value())
		}
		return list
	}
	return s.made()
}

func (s *structure) made() kernels.Array {
	d, err := ir.ParseDType(s.DType)
	if err != nil {
		panic(err)
	}
	v := s.values()
	for i, x := range v {
		switch {
		case i == 0 && s.Spoil != "" && d.IsFloat():
			v[i] = map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[s.Spoil]
		case d.IsInteger() && !d.IsSigned():
			v[i] = math.Trunc(math.Abs(x))
		case d == ir.Bool && x != 0:
			v[i] = 1
		case !d.IsFloat():
			v[i] = math.Trunc(x)
		}
	}
	a, err := kernels.FromFloat64s(d, s.Shape, v)
	if err != nil {
		panic(err)
	}
	return a
}

func notANumber(v []number) bool { return len(v) > 0 && math.IsNaN(float64(v[0])) }

func scored(got map[string]float64, want *callAnswer) string {
	for name, w := range want.Scores {
		if strings.HasSuffix(name, "accuracy") && notANumber(want.Scores["loss"]) {
			continue // which class is the largest of NaN is anybody's guess
		}
		if g, ok := got[name]; !ok {
			return fmt.Sprintf("no score %s in %v", name, got)
		} else if text := near([]float64{g}, w, trained); text != "" && !(math.IsInf(float64(w[0]), 0) && math.IsNaN(g)) { // TensorFlow has logits there
			return name + ": " + text
		}
	}
	return ""
}

func predictedLike(out []data.Array, want *callAnswer) string {
	if len(out) != len(want.Predictions) {
		return fmt.Sprintf("%d outputs, not %d", len(out), len(want.Predictions))
	}
	for i, y := range out {
		if text := want.Predictions[i].differs(y.Shape(), y.Float64s(), trained); text != "" {
			return fmt.Sprintf("output %d: %s", i, text)
		}
	}
	return ""
}
