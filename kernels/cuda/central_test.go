//go:build linux

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
)

// With central storage, on the host or on a GPU that is one of the replicas' or none of them, replicas come to the
// weights and logs that they have on CPUs: also with uneven and empty parts, and with devices that do not reach each
// other.
func TestCentralStorage(t *testing.T) {
	_, f := fakes()
	network := func() []layers.Layer {
		return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 4, Activation: "relu"}, &layers.BatchNormalization{Synchronized: true}, &layers.Dropout{Rate: 0.25}, &layers.Dense{Units: 3}}
	}
	central := func(t *testing.T, kind string, n int, parameters string) distribute.Strategy {
		o := distribute.CentralStorageOptions{ParameterDevice: parameters}
		for i := range n {
			o.ComputeDevices = append(o.ComputeDevices, fmt.Sprint(kind, ":", i))
		}
		s, err := distribute.NewCentralStorageStrategyWith(o)
		require.NoError(t, err)
		return s
	}
	for _, n := range []int{1, 2, 3} {
		want, wantHistory := fittedOn(t, central(t, "cpu", n, "cpu:0"), network())
		for _, parameters := range []string{"cpu:0", "fakecuda:0", "fakecuda:1", "fakecuda:7", ""} {
			t.Run(fmt.Sprint(n, " with ", parameters), func(t *testing.T) {
				got, history := fittedOn(t, central(t, "fakecuda", n, parameters), network())
				require.NoError(t, f.Fault())
				sameWeights(t, want, got, 2e-4)
				for name, values := range wantHistory.Logs {
					require.InDeltaSlice(t, values, history.Logs[name], 1e-3, name)
				}
			})
		}
	}
	t.Run("through the host", func(t *testing.T) {
		f := apart()
		want, _ := fittedOn(t, central(t, "cpu", 2, "cpu:0"), network())
		for _, parameters := range []string{"cpu:0", "apartcuda:0", "apartcuda:2"} {
			got, _ := fittedOn(t, central(t, "apartcuda", 2, parameters), network())
			require.NoError(t, f.Fault())
			sameWeights(t, want, got, 2e-4)
		}
	})
}
