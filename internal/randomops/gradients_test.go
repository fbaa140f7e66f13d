package randomops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// weights are the cotangents of the results, as in gradients.py.
func weights(y *ops.Tensor) array {
	a := array{DType: y.DType().String(), Shape: y.Shape()}
	for i := range y.Shape().Size() {
		f := float64(i*37%11-5) / 4
		a.Data = append(a.Data, value{f: f, i: int64(f)})
	}
	return a
}

// gradients computes the derivatives of a call with respect to its inputs of floating types.
func gradients(c *call, view int, rng *rand.Rand) (out outcome) {
	node, err := c.node(nil)
	if err != nil {
		return outcome{err: err}
	}
	r := distribute.NewReplica("test", 1, 1, 1)
	g := r.Graph()
	var inputs []array
	err = func() (err error) {
		defer ops.Catch(&err)
		values := map[*layers.KerasTensor]*ops.Tensor{}
		var of []*ops.Tensor
		for i, a := range c.Inputs {
			v := view
			if view == views {
				v = rng.IntN(views)
			}
			s, undo := stored(a, v)
			inputs = append(inputs, s)
			x := undo(g.Input(fmt.Sprint("x", i), c.symbols[i].DType(), s.Shape...))
			values[c.symbols[i]] = x
			if x.DType().IsFloat() {
				of = append(of, x)
			}
		}
		var ys, dys []*ops.Tensor
		for i, y := range node.Invoke(r.Inference(), func(t *layers.KerasTensor) *ops.Tensor { return values[t] }) {
			if y.DType().IsFloat() {
				w := weights(y)
				inputs = append(inputs, w)
				ys, dys = append(ys, y), append(dys, g.Input(fmt.Sprint("dy", i), y.DType(), w.Shape...))
			}
		}
		for i, d := range ops.VJP(ys, dys, of...) {
			if d == nil {
				d = ops.ZerosLike(of[i])
			}
			g.Program().AddOutput(fmt.Sprint("dx", i), ops.In(g, d))
		}
		return nil
	}()
	if err != nil {
		return outcome{err: err}
	}
	return execute(g.Program(), inputs)
}

// TestGradients compares the gradients of recorded calls with those of PyTorch, and with those of inputs that are views
// of other arrays. Recorded are calls on which ours agreed with PyTorch's when they were drawn, so this test finds what
// changes. Where they did not, PyTorch has rules of its own: both sides of a tie, NaN as if it were on the side that
// counts, float64 by way of float32, shapes. Those of empty axes (edges.py) are what JAX, TensorFlow and PyTorch say
// alike. RANDOM_GRADIENTS is another file of calls.
func TestGradients(t *testing.T) {
	files := []string{"testdata/gradients.json.gz", "testdata/edge_gradients.json.gz"}
	if other := os.Getenv("RANDOM_GRADIENTS"); other != "" {
		files = []string{other}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var calls []*call
	for _, file := range files {
		calls = append(calls, load(t, file)...)
	}
	require.NotEmpty(t, calls)
	for n, c := range calls {
		first := gradients(c, plain, rng)
		if text := agrees(c, first, c.Answer); text != "" {
			t.Errorf("call %d: %s\n%s", n, text, c.brief())
			continue
		}
		for view := transposed; view <= views; view++ {
			if text := same(first, gradients(c, view, rng)); text != "" {
				t.Errorf("call %d, view %d: %s\n%s", n, view, text, c.brief())
			}
		}
	}
}
