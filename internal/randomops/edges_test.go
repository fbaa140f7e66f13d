package randomops

import (
	"cmp"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEdges compares calls of every function on axes of length 0 and 1, and of lengths around those of vectors, with
// Keras's answers (edges.py). RANDOM_EDGES is another file of calls.
func TestEdges(t *testing.T) {
	file := "testdata/edges.json.gz"
	if other := os.Getenv("RANDOM_EDGES"); other != "" {
		file = other
	}
	require.Greater(t, compareEdges(t, load(t, file)), 200)
}

// compareEdges returns how many functions there were.
func compareEdges(t *testing.T, calls []*call) int {
	rng := rand.New(rand.NewPCG(1, 2))
	functions := map[string]bool{}
	for n, c := range calls {
		first := guarded(c, plain, rng)
		if c.sweepDiffers() != "" || c.edgeDiffers() != "" {
			continue
		}
		functions[c.Op] = true
		if text := agrees(c, first, c.Answer); text != "" {
			t.Errorf("call %d: %s; Keras: %.200s\n%s", n, text, c.Answer.Error, c.brief())
			continue
		}
		for view := transposed; view <= views; view++ {
			if text := same(first, guarded(c, view, rng)); text != "" {
				t.Errorf("call %d, view %d: %s\n%s", n, view, text, c.brief())
			}
		}
	}
	return len(functions)
}

// TestFreshEdges has edges.py draw RANDOM_EDGES_COUNT calls from RANDOM_EDGES_SEED on, on which JAX, TensorFlow and
// NumPy then have to agree.
func TestFreshEdges(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs GOKERAS_PYTHON, a Python with Keras; make random-networks runs it")
	}
	folder := t.TempDir()
	run := func(backend string, arguments ...string) {
		c := exec.CommandContext(t.Context(), python, append([]string{"randomops.py"}, arguments...)...)
		c.Env = append(os.Environ(), "KERAS_BACKEND="+backend, "JAX_PLATFORMS=cpu", "CUDA_VISIBLE_DEVICES=", "TF_CPP_MIN_LOG_LEVEL=3")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	run("numpy", "draw", cmp.Or(os.Getenv("RANDOM_EDGES_COUNT"), "60"), cmp.Or(os.Getenv("RANDOM_EDGES_SEED"), "1000000"), at("calls.json"), "edges")
	for _, backend := range []string{"jax", "tensorflow", "numpy"} {
		run(backend, "answer", at("calls.json"), at(backend+".json"))
	}
	run("numpy", "settle", at("calls.json"), at("jax.json"), at("tensorflow.json"), at("numpy.json"), at("edges.json"))
	compareEdges(t, load(t, at("edges.json")))
}

// edgeDiffers says why a result is another one than Keras's, as sweepDiffers does, "" where it must be the same.
func (c *call) edgeDiffers() string {
	of := func(names string) bool { return slices.Contains(strings.Fields(names), c.Op) }
	first := c.Inputs[0]
	switch refused := c.Answer.Error != ""; {
	case refused && of("nanmax nanmin ptp norm") && len(first.Shape) > 0 && first.Shape[0] == 0:
		return "a part of a batch may be empty"
	case refused && of("multi_hot matrix_rank"):
		return "no class is hot, and the rank of nothing is 0"
	case refused && of("median nanmedian quantile nanquantile percentile nanpercentile"):
		return "means of nothing are NaN, as with NumPy"
	case refused && of("normalize"):
		return "the order Infinity is taken"
	case !refused && of("slice top_k argpartition conv depthwise_conv separable_conv conv_transpose extract_sequences"):
		return "places outside and windows that do not fit are refused: a mistake most likely"
	case of("heaviside") && first.DType == "bool":
		return "bools are numbers of either type"
	}
	return ""
}
