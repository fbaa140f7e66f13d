package randomops

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSweep compares a call of every function for each type of operand, and with empty axes, with Keras's answers
// (sweep.py): results with their types, or that there is an error. RANDOM_SWEEP is another file of calls.
func TestSweep(t *testing.T) {
	file := "testdata/sweep.json.gz"
	if other := os.Getenv("RANDOM_SWEEP"); other != "" {
		file = other
	}
	rng := rand.New(rand.NewPCG(1, 2))
	functions, compared := map[string]bool{}, 0
	for n, c := range load(t, file) {
		if c.sweepDiffers() != "" {
			continue
		}
		functions[c.Op] = true
		compared++
		if text := agrees(c, guarded(c, plain, rng), c.Answer); text != "" {
			t.Errorf("call %d: %s; Keras: %.200s\n%s", n, text, c.Answer.Error, c.brief())
		}
	}
	t.Logf("%d calls of %d functions", compared, len(functions))
	require.Greater(t, len(functions), 200)
}

// sweepDiffers says why a result is another one than Keras's, "" where it must be the same.
func (c *call) sweepDiffers() string {
	types, empty := map[string]bool{}, false
	for _, a := range c.Inputs {
		types[a.DType] = true
		empty = empty || slices.Contains(a.Shape, 0)
	}
	half := types["float16"] || types["bfloat16"]
	of := func(names string) bool { return slices.Contains(strings.Fields(names), c.Op) }
	switch refused := c.Answer.Error != ""; {
	case refused && half && of("cholesky cholesky_inverse det eigh inv logdet lstsq lu_factor matrix_rank norm pinv qr slogdet solve solve_triangular svd"):
		return "LAPACK has no halves"
	case refused && len(types) > 1 && of("conv conv_transpose depthwise_conv separable_conv select"):
		return "types are brought together here"
	case refused && empty && of("logsumexp softmax log_softmax"):
		return "backends look for a maximum of nothing"
	case refused && empty && of("max min amax amin") && c.Inputs[0].Shape[0] == 0:
		return "a part of a batch may be empty"
	case refused && empty && of("resize separable_conv sparse_categorical_crossentropy"):
		return "nothing to compute"
	case !refused && empty && of("conv conv_transpose separable_conv extract_patches fft ssim"):
		return "results that would be empty are refused: a mistake most likely"
	case !refused && of("unstack") && len(c.Answer.Outputs) == 0:
		return "nothing can be no result of a layer"
	case refused && of("hard_tanh"):
		return "-1 is no number of an unsigned type"
	case refused && of("bincount"):
		return "backends refuse negative numbers or count them as zeros; here they are left out"
	case of("dot_product_attention") && !half && !types["float32"] && !types["float64"]:
		return "Keras rounds the weights of whole numbers to whole numbers"
	case of("layer_normalization") && (types["uint8"] || types["uint16"] || types["uint32"]):
		return "negative floats are no numbers of an unsigned type"
	}
	return ""
}
