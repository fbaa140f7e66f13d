package randomtraining

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// odd is a loss, a metric, a schedule or an optimizer with an odd value in its configuration, and what Keras makes of
// it.
type odd struct {
	measure
	Number    int
	Key       string
	Value     any
	Gradients [][]spec // of an optimizer, by steps
}

// TestFreshOdd has odd.py draw configurations with odd values: an error, or what Keras makes of them. What it takes and
// is refused here stands in testdata/odd_refused.txt.
func TestFreshOdd(t *testing.T) {
	drawFresh(t, "odd.py", "RANDOM_ODD_PARTS", "20")
	refusals := recorded.LoadRefusals(t, "testdata/odd_refused.txt")
	counts := map[string]int{}
	for _, c := range load[*odd](t, "RANDOM_ODD_PARTS", "") {
		text, err := c.try(t)
		value, _ := json.Marshal(c.Value)
		kerasSays, ours := "takes", "takes"
		if c.Answer.Error != "" {
			kerasSays = "error"
		}
		if err != nil {
			ours = "error"
		}
		counts["Keras "+kerasSays+", ours "+ours]++
		switch {
		case err != nil && strings.Contains(err.Error(), "panic"):
			text = err.Error()
		case err != nil && c.Answer.Error == "" && !refusals.Allow(c.Key, string(value), err):
			text = "is refused, and Keras takes it: " + err.Error()
		case err == nil && c.Answer.Error != "" && !c.harmless():
			text = "is accepted; Keras says " + c.Answer.Error
		case err != nil || c.Answer.Error != "":
			text = ""
		}
		if text != "" {
			t.Errorf("seed %d: %s = %s: %s", c.Number, c.Key, value, text)
		}
	}
	t.Log(counts)
}

// harmless reports whether the value may be read where Keras refuses it, as it can mean one thing only.
func (c *odd) harmless() bool {
	class, key, _ := strings.Cut(c.Key, ".")
	switch c.Value {
	case true:
		return true
	case -1.0:
		return key == "learning_rate" || key == "ignore_class" // as -1.0, and as a class that there is not, which Keras takes
	case 0.5:
		return key == "thresholds" // a list of one
	case nil: // which Keras takes where it is not looked at, as are the defaults here
		return key == "ema_momentum" || class == "BinaryFocalCrossentropy" && key == "alpha"
	}
	return false
}

// try computes what Keras did. The text says what differs.
func (c *odd) try(t *testing.T) (text string, err error) {
	if c.Gradients != nil {
		return c.optimizer(t)
	}
	switch {
	case c.Steps != nil:
		text = c.schedule(t)
	case c.Updates != nil:
		text = c.metric(t)
	default:
		text = c.loss(t)
	}
	if wrong, failed := strings.CutPrefix(text, "error: "); failed || text == "" && c.Answer.Error != "" {
		return "", errors.New(wrong)
	}
	return text, nil
}

// optimizer makes the steps.
func (c *odd) optimizer(t *testing.T) (string, error) {
	o, err := optimizers.Get(config.Object{ClassName: c.Class, Config: c.Settings})
	if err != nil {
		return "", err
	}
	var weights distribute.Variables
	var types []ir.Type
	for i, g := range c.Gradients[0] {
		v := distribute.NewVariable(distribute.VariableSpec{Name: []string{"kernel", "bias"}[i], Shape: g.Shape, DType: ir.Float32})
		ones := g.array(t)
		ones.Fill(1)
		require.NoError(t, v.SetValue(ones))
		weights, types = append(weights, v), append(types, v.Type())
	}
	step := distribute.NewFunction(testdevice.Strategy(), "step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		o.Apply(r, ops.Gradients{Of: weights, Values: in})
		return nil
	})
	made, err := step.Acquire([][]ir.Type{types}, []int{0})
	if err != nil {
		return "", err
	}
	for _, gradients := range c.Gradients {
		for i, g := range gradients {
			require.NoError(t, made.Input(0, i).Write(g.array(t).Data))
		}
		if err := made.Run(context.Background(), 0, 0); err != nil {
			return "", err
		}
	}
	for i, w := range weights {
		if i >= len(c.Answer.Weights) {
			break
		}
		a, err := w.Value()
		require.NoError(t, err)
		if text := c.Answer.Weights[i].differs(a.Type.Shape, a.Float64s(), 1e-4); text != "" {
			return w.Name() + ": " + text, nil
		}
	}
	return "", nil
}
