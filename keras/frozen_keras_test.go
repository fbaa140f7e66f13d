package keras_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// frozenCase is a model of testdata/frozen.py. Its configuration says which layers are frozen, some are then frozen or
// unfrozen by name, and Keras's training step changes some of the weights.
type frozenCase struct {
	Seed  int
	Model json.RawMessage
	Sets  []struct {
		Layer     string
		Trainable bool
	}
	Paths     []string
	Trainable []bool
	Changed   []*bool // nil: rounding decides
}

// TestFrozenLikeKeras: in random models with frozen layers of all kinds (wrappers, cells, nested models, shared layers)
// a training step changes the same weights as in Keras, and the model lists the same ones as trainable. FROZEN names a
// file of other models, which frozen.py draws.
func TestFrozenLikeKeras(t *testing.T) {
	file := "testdata/frozen.json.gz"
	if other := os.Getenv("FROZEN"); other != "" {
		file = other
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range recorded.JSON[[]frozenCase](t, file) {
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) {
			m, err := keras.ModelFromJSON(c.Model)
			require.NoError(t, err)
			for _, s := range c.Sets {
				layers.Walk(m, func(l layers.Layer) {
					if layers.Name(l) == s.Layer {
						layers.SetTrainable(l, s.Trainable)
					}
				})
			}
			x := make([][][]float32, 5)
			y := make([][][]float32, len(x))
			for i := range x {
				for range 4 {
					x[i] = append(x[i], []float32{normal(r), normal(r), normal(r)})
					y[i] = append(y[i], []float32{normal(r), normal(r)})
				}
			}
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
			trained := map[any]bool{}
			for _, v := range m.TrainableVariables() {
				trained[v] = true
			}
			before, err := m.GetWeights()
			require.NoError(t, err)
			_, err = m.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			after, err := m.GetWeights()
			require.NoError(t, err)
			require.Len(t, m.Weights(), len(c.Paths))
			for i, v := range m.Weights() {
				require.Equal(t, c.Trainable[i], trained[v], "%s (%s in Keras) is trainable", v.Path(), c.Paths[i])
				if c.Changed[i] == nil {
					continue
				}
				require.Equal(t, *c.Changed[i], !slices.Equal(before[i].Float64s(), after[i].Float64s()), "%s (%s in Keras) changes", v.Path(), c.Paths[i])
			}
		})
	}
}
