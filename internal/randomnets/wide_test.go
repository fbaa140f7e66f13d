package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// wideNetwork is a network of randomwide.py, and what Keras makes of it.
type wideNetwork struct {
	Number, Seed int
	Kind, Policy string
	Layers       []string
	X, Targets   typed
	Losses       []float64
}

// wideRough is how far a weight may be off, as a share of how far training moves any of its array.
var wideRough = map[string]float64{"float32": 3e-4, "mixed_float16": 2e-2, "mixed_bfloat16": 1e-1}

// TestFreshWide draws networks of layers of 32 and more channels, trains them some steps here and in Keras, and
// compares all weights: RANDOM_WIDE_COUNT networks, from RANDOM_WIDE_SEED on, or those of the folder RANDOM_WIDE.
func TestFreshWide(t *testing.T) {
	folder := draw(t, pythonOf(t), "randomwide.py", "RANDOM_WIDE", "8")
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []wideNetwork }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	counts := map[string]int{}
	worst := map[string]float64{}
	for _, c := range all.Models {
		counts[c.Kind]++
		counts[c.Policy]++
		off, err := c.compare(folder)
		if worst[c.Policy] = max(worst[c.Policy], off); err != nil {
			t.Errorf("network of seed %d (%s, %s, %v): %v", c.Seed, c.Kind, c.Policy, c.Layers, err)
		}
	}
	t.Logf("%d networks: %v; furthest off, of what is allowed: %v", len(all.Models), counts, worst)
}

// compare trains the network. It returns how far the weight that is furthest off is, as a share of what is allowed.
func (c *wideNetwork) compare(folder string) (worst float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	load := func(kind string) (*keras.Model, error) {
		return keras.LoadModel(filepath.Join(folder, fmt.Sprint(c.Number)+kind+".keras"))
	}
	m, err := load("")
	if err != nil {
		return 0, err
	}
	start, err := weightsOf(m)
	if err != nil {
		return 0, err
	}
	x, err := arrays([]typed{c.X})
	if err != nil {
		return 0, err
	}
	y, err := arrays([]typed{c.Targets})
	if err != nil {
		return 0, err
	}
	rough := wideRough[c.Policy]
	for i, want := range c.Losses {
		scores, err := m.TrainOnBatch(context.Background(), data.Arrays(x, y))
		if err != nil {
			return 0, err
		}
		if got := scores["loss"]; !(math.Abs(got-want) <= rough*max(1, want)) {
			return 0, fmt.Errorf("the loss of step %d is %g, Keras's %g", i, got, want)
		}
	}
	got, err := weightsOf(m)
	if err != nil {
		return 0, err
	}
	var keras, noise [][]float64
	for kind, to := range map[string]*[][]float64{".after": &keras, ".noise": &noise} {
		m, err := load(kind)
		if err == nil {
			*to, err = weightsOf(m)
		}
		if err != nil {
			return 0, err
		}
	}
	for i, w := range m.Weights() {
		off, text := furthest(got[i], keras[i], start[i], noise[i], rough)
		if worst = max(worst, off); off > 1 && err == nil {
			err = fmt.Errorf("weight %d, %s of shape %v: %s", i, w.Name(), w.Type().Shape, text)
		}
	}
	return worst, err
}

// furthest returns how far numbers are off, as a share of what is allowed: rough of how far they are moved from where
// they start, some times as much as rounding differently changes, and the rounding of float32.
func furthest(got, want, start, noise []float64, rough float64) (share float64, text string) {
	moved, noisy, largest := 0.0, 0.0, 0.0
	for i, v := range want {
		moved, noisy, largest = max(moved, math.Abs(v-start[i])), max(noisy, math.Abs(v-noise[i])), max(largest, math.Abs(v))
	}
	allowed := rough*moved + 10*noisy + 1e-6*largest + 1e-9
	for i, v := range want {
		if off := math.Abs(got[i]-v) / allowed; !(off <= share) {
			share, text = off, fmt.Sprintf("%g at %d, Keras %g (from %g; moved by %g at most, by rounding %g)", got[i], i, v, start[i], moved, noisy)
			if off != off {
				share = math.Inf(1)
			}
		}
	}
	return share, text
}

// weightsOf returns the numbers of all weights.
func weightsOf(m *keras.Model) (all [][]float64, err error) {
	weights, err := m.GetWeights()
	for _, w := range weights {
		all = append(all, w.Float64s())
	}
	return all, err
}
