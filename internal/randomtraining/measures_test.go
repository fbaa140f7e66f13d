package randomtraining

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// measure is a loss, a metric or a schedule of learning rates, and what Keras makes of it.
type measure struct {
	Class    string
	Settings json.RawMessage

	Labels, Predictions spec // of a loss
	Weights, Mask       *spec

	Updates []update // of a metric
	Steps   []int64  // of a schedule

	Answer struct {
		Value, Gradient result
		Results         []result
		Rates           []number
		Weights         []result
		Error           string
	}
}

type update struct {
	Labels, Predictions spec
	Weights, Mask       *spec
	Reset               bool
}

func (m *measure) String() string {
	text := fmt.Sprintf("%s %s", m.Class, m.Settings)
	if m.Updates == nil && m.Steps == nil {
		text += fmt.Sprintf(" labels %v predictions %v weights %v mask %v", m.Labels, m.Predictions, m.Weights, m.Mask)
	}
	for _, u := range m.Updates {
		text += fmt.Sprintf("\n\tlabels %v predictions %v weights %v mask %v reset %v", u.Labels, u.Predictions, u.Weights, u.Mask, u.Reset)
	}
	return text + "\n\t" + m.Answer.Error
}

// TestMeasures compares losses with their gradients, metrics over several updates, and schedules at steps up to 2^31.
// RANDOM_MEASURES is another file of cases.
func TestMeasures(t *testing.T) {
	compareMeasures(t, load[measure](t, "RANDOM_MEASURES", "testdata/measures.json.gz"))
}

func compareMeasures(t *testing.T, cases []measure) {
	t.Helper()
	require.NotEmpty(t, cases)
	for i, c := range cases {
		text := ""
		switch {
		case c.Steps != nil:
			text = c.schedule(t)
		case c.Updates != nil:
			text = c.metric(t)
		default:
			text = c.loss(t)
		}
		if text != "" {
			t.Errorf("case %d: %s\n%s", i, text, c.String())
		}
	}
}

// TestFreshMeasures has measures.py draw.
func TestFreshMeasures(t *testing.T) {
	drawFresh(t, "measures.py", "RANDOM_MEASURES", "15")
	TestMeasures(t)
}

// outcome compares what failed and what did not.
func (m *measure) outcome(err error, differs func() string) string {
	switch {
	case m.Answer.Error != "" && err == nil:
		return "no error"
	case m.Answer.Error != "":
		return ""
	case err != nil:
		return "error: " + err.Error()
	}
	return differs()
}

func (m *measure) loss(t *testing.T) string {
	l, err := losses.New(m.Class)
	require.NoError(t, err)
	if err := config.Decode(m.Settings, l); err != nil {
		return m.outcome(err, nil)
	}
	inputs := []kernels.Array{m.Labels.array(t), m.Predictions.array(t)}
	for _, s := range []*spec{m.Weights, m.Mask} {
		if s != nil {
			inputs = append(inputs, s.array(t))
		}
	}
	out, err := run(inputs, func(in []*ops.Tensor) []*ops.Tensor {
		p, w := in[1], (*ops.Tensor)(nil)
		if m.Weights != nil {
			w = in[2]
		}
		if m.Mask != nil {
			p = p.WithMask(in[len(in)-1])
		}
		total := losses.Compute(l, in[0], p, w)
		gradient := ops.Grad(total, in[1])[0]
		if l.ReductionKind() == losses.None {
			total = losses.Values(l, in[0], p, w)
		}
		return []*ops.Tensor{total, gradient}
	})
	return m.outcome(err, func() string {
		tolerance := precision(out[0].Type.DType, out[1].Type.DType, inputs[1].Type.DType)
		if slices.Equal(m.Answer.Value.Shape, []int{0}) && len(out[0].Type.Shape) == 0 { // Keras leaves the losses of no examples as they are
			if v := out[0].Float64s()[0]; v != 0 {
				return fmt.Sprintf("the loss of nothing is %v", v)
			}
			return ""
		}
		if text := m.Answer.Value.differs(out[0].Type.Shape, out[0].Float64s(), tolerance); text != "" {
			return "value: " + text
		}
		if m.Answer.Gradient.Data == nil {
			return "" // of NumPy
		}
		if text := m.Answer.Gradient.differs(out[1].Type.Shape, out[1].Float64s(), 4*tolerance); text != "" {
			return "gradient: " + text
		}
		return ""
	})
}

func precision(types ...ir.DType) float64 {
	coarsest := 2e-5
	for _, d := range types {
		switch d {
		case ir.Float16:
			coarsest = max(coarsest, 8e-3)
		case ir.BFloat16:
			coarsest = max(coarsest, 4e-2)
		}
	}
	return coarsest
}

// run traces f and runs it once.
func run(inputs []kernels.Array, f func(in []*ops.Tensor) []*ops.Tensor) ([]kernels.Array, error) {
	return testdevice.CallOne(func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor { return f(in) }, inputs...)
}

func (m *measure) metric(t *testing.T) string {
	metric, err := metrics.New(m.Class)
	require.NoError(t, err)
	if err := config.Decode(m.Settings, metric); err != nil {
		return m.outcome(err, nil)
	}
	var own struct{ DType string }
	require.NoError(t, json.Unmarshal(m.Settings, &own))
	computed, _ := ir.ParseDType(own.DType) // without one, float32
	for i, u := range m.Updates {
		if u.Reset && len(metric.Variables()) > 0 {
			if err := metrics.Reset(metric); err != nil {
				return m.outcome(err, nil)
			}
		}
		a, err := u.apply(t, metric)
		if err != nil || m.Answer.Error != "" {
			if err != nil || i == len(m.Updates)-1 {
				return m.outcome(err, nil)
			}
			continue
		}
		tolerance := precision(a.Type.DType, computed)
		if text := m.Answer.Results[i].differs(a.Type.Shape, a.Float64s(), tolerance); text != "" {
			return fmt.Sprintf("update %d: %s", i, text)
		}
	}
	return ""
}

func (u *update) apply(t *testing.T, metric metrics.Metric) (kernels.Array, error) {
	inputs := []kernels.Array{u.Predictions.array(t), u.Predictions.array(t)}
	if u.Labels.Kind != "" {
		inputs[0] = u.Labels.array(t)
	}
	for _, s := range []*spec{u.Weights, u.Mask} {
		if s != nil {
			inputs = append(inputs, s.array(t))
		}
	}
	_, err := run(inputs, func(in []*ops.Tensor) []*ops.Tensor {
		p, w := in[1], (*ops.Tensor)(nil)
		if u.Weights != nil {
			w = in[2]
		}
		if u.Mask != nil {
			p = p.WithMask(in[len(in)-1])
		}
		metric.Update(in[0], p, w)
		return nil
	})
	if err != nil {
		return kernels.Array{}, err
	}
	return metrics.ResultOf(metric)
}

func (m *measure) schedule(t *testing.T) string {
	s, err := schedules.New(m.Class)
	require.NoError(t, err)
	if err = config.Decode(m.Settings, s); err == nil {
		err = schedules.Check(s)
	}
	return m.outcome(err, func() string {
		var at, computed []float64
		for _, n := range m.Steps {
			at = append(at, s.At(n))
			step, err := kernels.FromFloat64s(ir.Int64, nil, []float64{float64(n)})
			require.NoError(t, err)
			out, err := run([]kernels.Array{step, step}, func(in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{s.Rate(in[0])} })
			require.NoError(t, err)
			computed = append(computed, out[0].Float64s()...)
		}
		if text := near(at, m.Answer.Rates, 1e-4); text != "" {
			return fmt.Sprintf("At: %s, of steps %v", text, m.Steps)
		}
		if text := near(computed, m.Answer.Rates, 1e-4); text != "" {
			return fmt.Sprintf("Rate: %s, of steps %v", text, m.Steps)
		}
		return ""
	})
}
