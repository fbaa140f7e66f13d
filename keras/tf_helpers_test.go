package keras_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// tfHandlers run the cases whose id begins with the key; the longest matching key counts. Each case of a file needs
// one.
type tfHandlers map[string]func(t *testing.T, c *tfvectors.Case)

func (h tfHandlers) run(t *testing.T, path string) {
	for _, c := range tfvectors.Load(t, path) {
		t.Run(c.ID, func(t *testing.T) {
			best := ""
			for prefix := range h {
				if strings.HasPrefix(c.ID, prefix) && len(prefix) > len(best) {
					best = prefix
				}
			}
			require.NotEmpty(t, best, "the case has no test")
			h[best](t, &c)
		})
	}
}

// tfDevices returns the names of n logical devices.
func tfDevices(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cpu:%d", i)
	}
	return names
}

func tfStrategy(t testing.TB, name any, n int) distribute.Strategy {
	t.Helper()
	var s distribute.Strategy
	var err error
	switch name {
	case "Mirrored":
		s, err = distribute.NewMirroredStrategy(tfDevices(n)...)
	case "CentralStorage":
		s, err = distribute.NewCentralStorageStrategy(tfDevices(n)...)
	case "OneDevice":
		s, err = distribute.NewOneDeviceStrategy("cpu:0")
	default:
		s = distribute.Default()
	}
	require.NoError(t, err)
	return s
}

// tfArray makes an array from recorded numbers.
func tfArray(t testing.TB, dtype ir.DType, v any) kernels.Array {
	t.Helper()
	shape, values := tfvectors.Floats(t, v)
	a, err := kernels.FromFloat64s(dtype, shape, values)
	require.NoError(t, err)
	return a
}

// tfDense makes a host array from recorded numbers, of int32 if integers is set and all of them are integers.
func tfDense(t testing.TB, v any, integers bool) data.Array {
	t.Helper()
	shape, values := tfvectors.Floats(t, v)
	if integers {
		x := make([]int32, len(values))
		for i, f := range values {
			x[i] = int32(f)
		}
		return data.Must(data.ArrayOf(x, shape...))
	}
	x := make([]float32, len(values))
	for i, f := range values {
		x[i] = float32(f)
	}
	return data.Must(data.ArrayOf(x, shape...))
}

// tfArrays makes a list of weights.
func tfArrays(t testing.TB, v any) []kernels.Array {
	t.Helper()
	var out []kernels.Array
	for _, w := range v.([]any) {
		out = append(out, tfArray(t, ir.Float32, w))
	}
	return out
}

// tfOptimizer makes the optimizer given by a case's setup.
func tfOptimizer(t testing.TB, setup any) optimizers.Optimizer {
	t.Helper()
	o := setup.(map[string]any)
	for key := range o {
		require.Contains(t, []string{"name", "learning_rate", "momentum", "nesterov"}, key, "a hyperparameter that no optimizer below is given: %v", o)
	}
	rate := o["learning_rate"].(float64)
	momentum, _ := o["momentum"].(float64)
	nesterov, _ := o["nesterov"].(bool)
	switch o["name"] {
	case "SGD":
		return &optimizers.SGD{LearningRate: rate, Momentum: momentum, Nesterov: nesterov}
	case "Adam":
		require.False(t, momentum != 0 || nesterov, "Adam has neither: %v", o)
		return &optimizers.Adam{LearningRate: rate}
	}
	t.Fatalf("optimizer %v", o)
	return nil
}
