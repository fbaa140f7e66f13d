package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// stepped is a training step of steps.py, with what Keras makes of several calls of fit.
type stepped struct {
	Number  int
	Seed    uint64
	Batch   int
	Program struct {
		Phases []phase
		Follow bool
	}
	X, Y       spec
	W          *spec
	Parts      []json.RawMessage // the body, the head, and a teacher or null
	Compile    json.RawMessage
	Optimizers []json.RawMessage // of the body and the head
	Calls      []struct {
		Epochs int
		Before string
		Part   int
		Seed   uint64
		Answer struct {
			History     map[string][][]number
			Scores      map[string][]number
			State       []result
			Predictions []result
		}
	}
}

// phase is an update of some variables with the gradient of a sum of terms.
type phase struct {
	Of, How string
	Times   int
	Terms   []term
}

// term is a part of a loss: its name, its factor, and whether the model is called as in training.
type term struct {
	name     string
	factor   float64
	training bool
}

func (t *term) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&t.name, &t.factor, &t.training})
}

// TestSteps trains with steps that steps.py drew, on one device and, without batch normalization, on two. RANDOM_STEPS
// is another file of cases.
func TestSteps(t *testing.T) { checkAll[*stepped](t, "RANDOM_STEPS", "testdata/steps.json.gz") }

// TestFreshSteps has steps.py draw.
func TestFreshSteps(t *testing.T) { checkFresh[*stepped](t, "steps.py", "RANDOM_STEPS", "12") }

func (c *stepped) number() int { return c.Number }

// pair is the model that a program trains, as the class in steps.py.
type pair struct {
	Body, Head, Teacher *keras.Model
	OfBody, OfHead      optimizers.Optimizer

	c *stepped
}

func (p *pair) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return p.Head.Call(c, p.Body.Call(c, x))
}

func (p *pair) TrainStep(s *keras.Step) keras.StepLogs {
	pred := s.Model().Call(s.Training(), s.X[0])
	logs := keras.StepLogs{}
	for k, one := range p.c.Program.Phases {
		part, optimizer := s.Model(), s.Optimizer()
		if one.Of == "body" {
			part, optimizer = p.Body, p.OfBody
		} else if one.Of == "head" {
			part, optimizer = p.Head, p.OfHead
		}
		variables := part.TrainableVariables()
		if len(variables) == 0 {
			continue
		}
		for range one.Times {
			var loss *ops.Tensor
			for _, t := range one.Terms {
				v := ops.MultiplyScalar(p.term(s, t), t.factor)
				if loss == nil {
					loss = v
				} else {
					loss = ops.Add(loss, v)
				}
			}
			p.update(s, one.How, optimizer, loss, variables)
			logs[fmt.Sprintf("p%d", k)] = loss
		}
	}
	if p.c.Program.Follow {
		for i, v := range p.Teacher.Weights() {
			s.Assign(v, ops.Add(ops.MultiplyScalar(s.Read(v), 0.75), ops.MultiplyScalar(s.Read(p.Head.Weights()[i]), 0.25)))
		}
	}
	for name, v := range s.ComputeMetrics(pred) {
		logs[name] = v
	}
	return logs
}

func (p *pair) update(s *keras.Step, how string, o optimizers.Optimizer, loss *ops.Tensor, variables distribute.Variables) {
	if how == "minimize" {
		s.Minimize(o, loss, variables)
		return
	}
	g := ops.NewTape(s).Gradients(loss, variables)
	if how == "clipped" {
		g.Values = s.SumGradients(g.Values)
	}
	for i, v := range g.Values {
		switch {
		case v == nil:
		case how == "clipped":
			g.Values[i] = ops.Clip(v, -0.05, 0.05)
		default:
			g.Values[i] = ops.MultiplyScalar(v, 0.5)
		}
	}
	if how == "clipped" {
		s.WithoutAggregation(func() { s.Apply(o, g) })
		return
	}
	s.Apply(o, g)
}

func (p *pair) term(s *keras.Step, t term) *ops.Tensor {
	c, x := s.Inference(), s.X[0]
	if t.training {
		c = s.Training()
	}
	switch t.name {
	case "penalty":
		g := ops.NewTape(s).Gradients(ops.Sum(s.Model().Call(c, x)), x).Values[0]
		return s.Mean(ops.Square(ops.AddScalar(ops.Sqrt(ops.AddScalar(ops.Sum(ops.Square(g), 1), 1e-6)), -1)))
	case "moved":
		g := ops.NewTape(s).Gradients(s.Mean(ops.Square(s.Model().Call(c, x))), x).Values[0]
		x = ops.Add(x, ops.MultiplyScalar(ops.Tanh(ops.MultiplyScalar(ops.StopGradient(g), 5)), 0.1))
		return s.Mean(ops.Square(s.Model().Call(c, x)))
	case "decay":
		var sum *ops.Tensor
		for _, v := range p.Head.Weights() {
			if one := ops.Sum(ops.Square(s.Read(v))); sum == nil {
				sum = one
			} else {
				sum = ops.Add(sum, one)
			}
		}
		return losses.ScaleRegularization(ops.MultiplyScalar(sum, 0.05))
	}
	features := p.Body.Call(c, x)
	if t.name == "features" {
		return s.Mean(ops.Sum(ops.Square(features), 1))
	}
	pred := p.Head.Call(c, features)
	switch t.name {
	case "compiled":
		return s.ComputeLoss(pred)
	case "stop":
		return s.Mean(ops.Square(ops.Subtract(pred, ops.StopGradient(ops.ExpandDims(ops.Sum(features, 1), 1)))))
	case "teach":
		return s.Mean(ops.Square(ops.Subtract(pred, ops.StopGradient(p.Teacher.Call(s.Inference(), features)))))
	}
	return s.Mean(ops.Square(pred))
}

func (c *stepped) check(t *testing.T) string {
	for replicas := 1; replicas <= 2; replicas++ {
		p := &pair{c: c}
		var strategy distribute.Strategy
		if replicas > 1 {
			var err error
			strategy, err = distribute.NewMirroredStrategy("cpu:0", "cpu:1")
			require.NoError(t, err)
		}
		if text := c.train(t, p, strategy); text != "" {
			return fmt.Sprintf("on %d devices: %s", replicas, text)
		}
		if len(p.Body.Weights()) > len(p.Body.TrainableVariables()) { // normalization, of half a batch each
			break
		}
	}
	return ""
}

// build makes the model of the parts.
func (c *stepped) build(t *testing.T, p *pair, strategy distribute.Strategy) *keras.Model {
	t.Helper()
	options := []keras.Option{keras.DTypePolicy("float64"), keras.Name("stepped")}
	var own []keras.Option
	if strategy != nil {
		own = append(own, distribute.Scope(strategy))
	}
	for i, part := range []**keras.Model{&p.Body, &p.Head, &p.Teacher} {
		if string(c.Parts[i]) == "null" {
			continue
		}
		m, err := keras.ModelFromJSON(c.Parts[i], own...)
		require.NoError(t, err)
		require.NoError(t, setWeights(m, c.Seed+100*uint64(i)))
		*part = m
	}
	if p.Teacher != nil {
		p.Teacher.SetTrainable(false)
	}
	p.renew(t)
	m, err := keras.NewModel(p, append(options, own...)...)
	require.NoError(t, err)
	return m
}

// renew makes the optimizers of the parts.
func (p *pair) renew(t *testing.T) {
	t.Helper()
	for i, into := range []*optimizers.Optimizer{&p.OfBody, &p.OfHead} {
		object, err := config.ParseObject(p.c.Optimizers[i])
		require.NoError(t, err)
		*into, err = optimizers.Get(object)
		require.NoError(t, err)
	}
}

func (c *stepped) train(t *testing.T, p *pair, strategy distribute.Strategy) string {
	m, ctx := c.build(t, p, strategy), context.Background()
	compile := func() {
		o, err := compileConfig(c.Compile)
		require.NoError(t, err)
		require.NoError(t, m.Compile(o))
	}
	compile()
	var options []data.ArrayOption
	if c.W != nil {
		options = append(options, data.SampleWeight(c.W.array(t)))
	}
	ds := data.Arrays(c.X.array(t), c.Y.array(t), options...)
	for i, call := range c.Calls {
		part, other := p.Body, p.Head
		if call.Part == 1 {
			part, other = other, part
		}
		switch call.Before {
		case "freeze", "thaw":
			if call.Before == "thaw" || len(other.TrainableVariables()) > 0 {
				part.SetTrainable(call.Before == "thaw")
			}
			p.renew(t)
			compile()
		case "compile":
			compile()
		case "weights":
			require.NoError(t, setWeights(part, call.Seed))
		}
		h, err := m.Fit(ctx, ds, keras.Shuffle(false), keras.BatchSize(c.Batch), keras.Epochs(call.Epochs))
		if err != nil {
			return fmt.Sprintf("call %d: %v", i, err)
		}
		if text := differs(h, call.Answer.History); text != "" {
			return fmt.Sprintf("call %d, after %q: history: %s", i, call.Before, text)
		}
		scores, err := m.EvaluateLogs(ctx, ds, keras.BatchSize(c.Batch))
		require.NoError(t, err)
		for name, want := range call.Answer.Scores {
			if text := near(scores.Vector(name), want, exactly); text != "" {
				return fmt.Sprintf("call %d: score %s: %s", i, name, text)
			}
		}
		if text := c.compare(t, p, call.Answer.State); text != "" {
			return fmt.Sprintf("call %d, after %q: %s", i, call.Before, text)
		}
		out, err := m.PredictAll(ctx, ds, keras.BatchSize(c.Batch))
		require.NoError(t, err)
		if text := call.Answer.Predictions[0].differs(out[0].Shape(), out[0].Float64s(), exactly); text != "" {
			return fmt.Sprintf("call %d: predictions: %s", i, text)
		}
	}
	return ""
}

// exactly is what float64 leaves to the rounding of both sides, and of the file.
const exactly = 1e-5

func (c *stepped) compare(t *testing.T, p *pair, want []result) string {
	var arrays []kernels.Array
	for _, part := range []*keras.Model{p.Body, p.Head, p.Teacher} {
		if part != nil {
			weights, err := part.GetWeights()
			require.NoError(t, err)
			arrays = append(arrays, weights...)
		}
	}
	for i, a := range arrays {
		if text := want[i].differs(a.Shape(), a.Float64s(), exactly); text != "" {
			return fmt.Sprintf("weight %d: %s", i, text)
		}
	}
	if len(arrays) != len(want) || math.IsNaN(arrays[0].Float64s()[0]) {
		return fmt.Sprintf("%d weights, not %d", len(arrays), len(want))
	}
	return ""
}
