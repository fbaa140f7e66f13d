package layers_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// notOperations are functions of keras.ops that cannot be steps of a Functional model, or have no fixed shape.
var notOperations = map[string]string{
	"nonzero": "the shape of the result depends on numbers",
}

// otherResults are cases whose result differs on purpose.
var otherResults = map[string]string{
	"bincount/5fixed": "without minlength the length of the result depends on numbers",
}

// TestOperationsLikeKeras calls every function of keras.ops as an operation and compares results and gradients with
// Keras's.
func TestOperationsLikeKeras(t *testing.T) {
	called, withGradients := map[string]bool{}, 0
	first, more := vectors.Load(t, "ops").Cases, vectors.Load(t, "ops_more").Cases
	for i, c := range slices.Concat(first, more) {
		name := c.Class[strings.LastIndex(c.Class, ".")+1:]
		if len(c.Inputs) == 0 || notOperations[name] != "" {
			continue
		}
		called[name] = true
		if i >= len(first) && len(c.Gradients) > 0 {
			withGradients++
		}
		if otherResults[strings.TrimSuffix(c.Name, "/"+c.DType)] != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { checkOperation(t, &c, name, i >= len(first)) })
	}
	require.Greater(t, len(called), 240)
	require.Greater(t, withGradients, 100, "cases of ops_more with gradients of Keras's")
}

func checkOperation(t *testing.T, c *vectors.Case, name string, numpy bool) {
	t.Helper()
	var extra struct {
		Call struct {
			Args   []json.RawMessage
			Kwargs map[string]json.RawMessage
		}
		Differentiable bool // compare with central differences
	}
	c.DecodeExtra(t, &extra)
	symbols := map[string]*layers.KerasTensor{}
	for _, a := range c.Inputs {
		d, err := ir.ParseDType(a.DType)
		require.NoError(t, err)
		symbols[a.Name] = layers.NewInput(a.Name, d, a.Shape...)
	}
	var args []any
	for _, raw := range extra.Call.Args {
		args = append(args, callArgument(t, raw, symbols))
	}
	named := layers.Keywords{}
	for key, raw := range extra.Call.Kwargs {
		named[key] = callArgument(t, raw, symbols)
	}
	results := layers.OpAll(name, append(args, named)...)
	require.NoError(t, results[0].Err())
	node, _ := results[0].Node()

	r := distribute.NewReplica("test", 1, 1, 1)
	g := r.Graph()
	values := map[*layers.KerasTensor]*ops.Tensor{}
	for _, a := range c.Inputs {
		values[symbols[a.Name]] = g.Input(a.Name, symbols[a.Name].DType(), a.Shape...)
	}
	if extra.Differentiable && c.DType == "float64" {
		checkDifferences(t, c, node, symbols)
	}
	outputs, err := runOperation(c, r, node, symbols, values)
	require.NoError(t, err)
	require.Len(t, outputs, len(c.Outputs)+len(c.Gradients))
	for i, y := range outputs {
		g.Program().AddOutput(c.Name, ops.In(g, y))
		if i < len(c.Outputs) {
			require.Equal(t, results[i].Shape().String(), y.Shape().String(), "worked out shape")
			// With float64 JAX uses int64 for integers, and NumPy always does.
			if c.DType == "float32" && (!numpy || strings.HasPrefix(c.Outputs[i].DType, "float")) {
				require.Equal(t, c.Outputs[i].DType, y.DType().String(), "type of the result")
			}
		}
	}
	var in []reference.Value
	for _, a := range c.Inputs {
		v, err := reference.New(symbols[a.Name].DType(), a.Shape, a.Data...)
		require.NoError(t, err)
		in = append(in, v)
	}
	out, err := testdevice.Run(g.Program(), in)
	require.NoError(t, err)
	for i, v := range out {
		got := make([]float64, v.Type.Shape.Size())
		for j := range got {
			got[j] = v.At(j)
		}
		if i < len(c.Outputs) {
			c.Close(t, c.Outputs[i].Name, got, v.Type.Shape, c.Outputs[i])
		} else {
			want := c.Gradients[i-len(c.Outputs)]
			c.Close(t, "gradient "+want.Name, got, v.Type.Shape, want)
		}
	}
}

// runOperation returns the results and then the gradients of Σ result·cotangent.
func runOperation(c *vectors.Case, r *distribute.Replica, node *layers.Node, symbols map[string]*layers.KerasTensor, values map[*layers.KerasTensor]*ops.Tensor) (outputs []*ops.Tensor, err error) {
	defer ops.Catch(&err)
	outputs = node.Invoke(r.Inference(), func(t *layers.KerasTensor) *ops.Tensor { return values[t] })
	if len(c.Gradients) == 0 {
		return outputs, nil
	}
	var targets, cotangents []*ops.Tensor
	for i, want := range c.Outputs {
		if s := symbols[strings.Replace(want.Name, "output", "cotangent", 1)]; s != nil {
			targets, cotangents = append(targets, outputs[i]), append(cotangents, values[s])
		}
	}
	var sources []*ops.Tensor
	for _, g := range c.Gradients {
		sources = append(sources, values[symbols[g.Name]])
	}
	for i, dx := range ops.VJP(targets, cotangents, sources...) {
		if dx == nil {
			dx = ops.ZerosLike(sources[i])
		}
		outputs = append(outputs, dx)
	}
	return outputs, nil
}

// checkDifferences compares the gradient of Σ result·weight, for fixed weights, with central differences along random
// directions.
func checkDifferences(t *testing.T, c *vectors.Case, node *layers.Node, symbols map[string]*layers.KerasTensor) {
	t.Helper()
	r := distribute.NewReplica("test", 1, 1, 1)
	g := r.Graph()
	values := map[*layers.KerasTensor]*ops.Tensor{}
	var sources []*ops.Tensor
	var floats []int
	for i, a := range c.Inputs {
		x := g.Input(a.Name, symbols[a.Name].DType(), a.Shape...)
		values[symbols[a.Name]] = x
		if x.DType().IsFloat() {
			sources, floats = append(sources, x), append(floats, i)
		}
	}
	err := func() (err error) {
		defer ops.Catch(&err)
		var total *ops.Tensor
		for i, y := range node.Invoke(r.Inference(), func(t *layers.KerasTensor) *ops.Tensor { return values[t] }) {
			if !y.DType().IsFloat() {
				continue
			}
			weight := make([]float64, y.Shape().Size())
			for j := range weight {
				weight[j] = math.Sin(float64(7*i+3*j) + 0.5)
			}
			part := ops.Sum(ops.Multiply(y, ops.Constant(g, y.DType(), y.Shape(), weight)))
			if total == nil {
				total = part
			} else {
				total = ops.Add(total, part)
			}
		}
		g.Program().AddOutput("total", ops.In(g, total))
		for i, dx := range ops.Grad(total, sources...) {
			if dx == nil {
				dx = ops.ZerosLike(sources[i])
			}
			g.Program().AddOutput("gradient", ops.In(g, dx))
		}
		return nil
	}()
	require.NoError(t, err)
	run := func(direction [][]float64, step float64) []reference.Value {
		in := make([]reference.Value, len(c.Inputs))
		at := 0
		for i, a := range c.Inputs {
			data := slices.Clone(a.Data)
			if at < len(floats) && floats[at] == i {
				for j := range data {
					if direction != nil {
						data[j] += step * direction[at][j]
					}
				}
				at++
			}
			v, err := reference.New(symbols[a.Name].DType(), a.Shape, data...)
			require.NoError(t, err)
			in[i] = v
		}
		out, err := reference.Interpreter{}.Run(g.Program(), in)
		require.NoError(t, err)
		return out
	}
	exact := run(nil, 0)
	rng := rand.New(rand.NewPCG(1, uint64(len(c.Inputs))))
	for range 2 {
		var direction [][]float64
		slope := 0.0
		for k, i := range floats {
			d := make([]float64, len(c.Inputs[i].Data))
			for j := range d {
				d[j] = rng.NormFloat64()
				slope += d[j] * exact[1+k].At(j)
			}
			direction = append(direction, d)
		}
		const h = 1e-6
		numeric := (run(direction, h)[0].At(0) - run(direction, -h)[0].At(0)) / (2 * h)
		if !(math.Abs(numeric-slope) <= 1e-6*max(1, math.Abs(slope), math.Abs(exact[0].At(0)))) {
			t.Errorf("slope %v, central difference %v", slope, numeric)
		}
	}
}

// callArgument reads an argument of a case: literals, and {"input": name} for tensors.
func callArgument(t *testing.T, raw json.RawMessage, symbols map[string]*layers.KerasTensor) any {
	t.Helper()
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = callArgument(t, e, symbols)
		}
		return out
	}
	var input struct{ Input string }
	if json.Unmarshal(raw, &input) == nil && input.Input != "" {
		require.Contains(t, symbols, input.Input)
		return symbols[input.Input]
	}
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	if f, ok := v.(float64); ok && f == math.Trunc(f) && !strings.ContainsAny(string(raw), ".e") {
		return int64(f)
	}
	switch v {
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	return v
}
