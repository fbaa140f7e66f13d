package losses_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/losses"
)

// lossOf makes the loss of a case. Keras leaves some arguments out of its configurations; they are in the case's name.
func lossOf(t testing.TB, c vectors.Case) losses.Loss {
	t.Helper()
	l, err := losses.New(c.Class)
	require.NoError(t, err)
	require.NoError(t, config.Decode(c.Config, l))
	for _, part := range strings.FieldsFunc(c.Name, func(r rune) bool { return r == '/' || r == ',' }) {
		key, value, _ := strings.Cut(part, "=")
		switch l := l.(type) {
		case *losses.Huber:
			if key == "delta" {
				l.Delta, err = strconv.ParseFloat(value, 64)
				require.NoError(t, err)
			}
		case *losses.CosineSimilarity:
			if key == "axis" {
				axis, err := strconv.Atoi(value)
				require.NoError(t, err)
				l.Axis = &axis
			}
		}
	}
	return l
}

// inputsOf lists the arrays of a case: labels, predictions, then weights and mask where there are.
func inputsOf(t testing.TB, c vectors.Case) (inputs []kernels.Array, weighted, masked bool) {
	inputs = []kernels.Array{fromVector(t, c.Input(t, "y_true")), fromVector(t, c.Input(t, "y_pred"))}
	if w, ok := c.Inputs.Get("sample_weight"); ok {
		inputs, weighted = append(inputs, fromVector(t, w)), true
	}
	if m, ok := c.Inputs.Get("mask"); ok {
		inputs, masked = append(inputs, fromVector(t, m)), true
	}
	return inputs, weighted, masked
}

// traceOf returns the loss (unreduced where the case asks for that) and its gradient.
func traceOf(l losses.Loss, weighted, masked bool) distribute.TraceFunc {
	return func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		yPred, weight := in[1], (*ops.Tensor)(nil)
		if weighted {
			weight = in[2]
		}
		if masked {
			yPred = yPred.WithMask(in[len(in)-1])
		}
		total := losses.Compute(l, in[0], yPred, weight)
		grad := ops.Grad(total, in[1])[0]
		if l.ReductionKind() == losses.None {
			total = losses.Values(l, in[0], yPred, weight)
		}
		return []*ops.Tensor{total, grad}
	}
}

func TestAgainstKeras(t *testing.T) {
	set := vectors.Load(t, "losses")
	seen := map[string]bool{}
	for _, c := range set.Cases {
		seen[c.Class] = true
		t.Run(c.Name, func(t *testing.T) {
			l := lossOf(t, c)
			inputs, weighted, masked := inputsOf(t, c)
			out := runOne(t, traceOf(l, weighted, masked), inputs...)
			c.Close(t, "loss", out[0].Float64s(), out[0].Type.Shape, c.Output(t, "loss"))
			c.Close(t, "gradient", out[1].Float64s(), out[1].Type.Shape, c.Gradient(t, "y_pred"))
		})
	}
	for _, class := range losses.ClassNames() {
		require.True(t, seen[class] || class == "Custom>twice", "there is no case of %s", class)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, c := range vectors.Load(t, "losses").Cases {
		l := lossOf(t, c)
		got, err := config.Encode(l)
		require.NoError(t, err)
		delete(got, "delta") // Keras forgets these two, and reads them back where they are given
		if c.Class == "CosineSimilarity" {
			delete(got, "axis")
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(c.Config), string(text), c.Name)
	}
}
