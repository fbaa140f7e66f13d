package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestLoraIsRefusedWithAReason passes EnableLora what it does not support.
func TestLoraIsRefusedWithAReason(t *testing.T) {
	built := func(l layers.LoraEnabler) layers.LoraEnabler {
		_, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
		require.NoError(t, err)
		return l
	}
	enabled := built(&layers.Dense{Units: 3})
	require.NoError(t, enabled.EnableLora(2))
	for want, err := range map[string]error{
		"it is not built yet":           (&layers.Dense{Units: 3}).EnableLora(2),
		"the rank must be positive":     built(&layers.Dense{Units: 3}).EnableLora(0),
		"received -3":                   built(&layers.Dense{Units: 3}).EnableLora(-3),
		"LoRA is enabled already":       enabled.EnableLora(2),
		"does not go with a constraint": built(&layers.Dense{Units: 3, KernelConstraint: "max_norm"}).EnableLora(2),
		"one LoraOptions at most":       built(&layers.Dense{Units: 3}).EnableLora(1, layers.LoraOptions{}, layers.LoraOptions{}),
		"initializer \"no such thing\"": built(&layers.Dense{Units: 3}).EnableLora(1, layers.LoraOptions{AInitializer: "no such thing"}),
	} {
		require.ErrorContains(t, err, want)
	}
	_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, LoraRank: -1}}, keras.InputShape(4))
	require.ErrorContains(t, err, "LoraRank must be positive, received -1")
	_, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, LoraRank: 2, KernelConstraint: "max_norm"}}, keras.InputShape(4))
	require.ErrorContains(t, err, "does not go with a constraint")
}

// TestNothingRemainsOfALoraThatFailed: after an error the layer can be used, and LoRA can be enabled.
func TestNothingRemainsOfALoraThatFailed(t *testing.T) {
	l := &layers.Dense{Units: 3}
	m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
	require.NoError(t, err)
	require.Error(t, l.EnableLora(2, layers.LoraOptions{BInitializer: "no such thing"}))
	require.Len(t, m.Weights(), 2)
	require.Len(t, m.TrainableVariables(), 2)
	require.NoError(t, l.EnableLora(2))
	require.Len(t, m.Weights(), 4)
	require.Len(t, m.TrainableVariables(), 3)
}
