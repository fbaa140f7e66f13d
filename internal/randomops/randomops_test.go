package randomops

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers"
)

// outcome is what a call gives: arrays or an error.
type outcome struct {
	arrays []array
	err    error
}

// How an input reaches the call: as it is, or as a view of another array.
const (
	plain = iota
	transposed
	strided
	reversed
	views
)

// stored returns the array that an input is a view of, and the function that makes the view.
func stored(a array, view int) (array, func(*ops.Tensor) *ops.Tensor) {
	r := len(a.Shape)
	switch {
	case view == transposed && r > 1:
		order := make([]int, r)
		for i := range order {
			order[i] = r - 1 - i
		}
		return a.rearranged(order), func(x *ops.Tensor) *ops.Tensor { return ops.Transpose(x, order...) }
	case view == strided && r > 0:
		return a.spread(), func(x *ops.Tensor) *ops.Tensor {
			low, high, step := make([]int, r), slices.Clone(x.Shape()), make([]int, r)
			for i := range step {
				step[i] = 1
			}
			low[r-1], high[r-1], step[r-1] = 1, 1+2*a.Shape[r-1], 2
			return ops.StridedSlice(x, low, high, step)
		}
	case view == reversed && r > 0:
		return a.flipped(), func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x) }
	}
	return a, func(x *ops.Tensor) *ops.Tensor { return x }
}

// compute runs a call on the CPU.
func compute(c *call, view int, rng *rand.Rand) (out outcome) {
	node, err := c.node(nil)
	if err != nil {
		return outcome{err: err}
	}
	var inputs []array
	var undo []func(*ops.Tensor) *ops.Tensor
	var symbols []*layers.KerasTensor
	r := distribute.NewReplica("test", 1, 1, 1)
	g := r.Graph()
	for i, a := range c.Inputs {
		v := view
		if view == views {
			v = rng.IntN(views)
		}
		s, f := stored(a, v)
		inputs, undo, symbols = append(inputs, s), append(undo, f), append(symbols, c.symbols[i])
	}
	err = func() (err error) {
		defer ops.Catch(&err)
		values := map[*layers.KerasTensor]*ops.Tensor{}
		var in []*ops.Tensor
		for i, s := range inputs {
			in = append(in, g.Input(fmt.Sprint("x", i), symbols[i].DType(), s.Shape...))
		}
		for i, x := range in {
			values[symbols[i]] = undo[i](x)
		}
		for i, y := range node.Invoke(r.Inference(), func(t *layers.KerasTensor) *ops.Tensor { return values[t] }) {
			g.Program().AddOutput(fmt.Sprint("y", i), ops.In(g, y))
		}
		return nil
	}()
	if err != nil {
		return outcome{err: err}
	}
	return execute(g.Program(), inputs)
}

func execute(p *ir.Program, inputs []array) outcome {
	backend, err := kernels.Lookup("cpu")
	if err != nil {
		return outcome{err: err}
	}
	device := kernels.Device{Kind: "cpu"}
	exe, err := kernels.Load(backend, p, device)
	if err != nil {
		return outcome{err: err}
	}
	defer exe.Close()
	var in, out []kernels.Buffer
	defer func() {
		for _, b := range append(in, out...) {
			b.Free()
		}
	}()
	for i, a := range inputs {
		b, err := backend.NewBuffer(device, p.Type(p.Inputs[i].Value))
		if err != nil {
			return outcome{err: err}
		}
		in = append(in, b)
		if err := b.Write(a.bytes(b.Type().DType)); err != nil {
			return outcome{err: err}
		}
	}
	for _, o := range p.Outputs {
		b, err := backend.NewBuffer(device, p.Type(o.Value))
		if err != nil {
			return outcome{err: err}
		}
		out = append(out, b)
	}
	if err := exe.Run(context.Background(), in, out); err != nil {
		return outcome{err: err}
	}
	var result outcome
	for _, b := range out {
		t := b.Type()
		data := make([]byte, t.Bytes())
		if err := b.Read(data); err != nil {
			return outcome{err: err}
		}
		a := array{DType: t.DType.String(), Shape: t.Shape, Data: make([]value, t.Shape.Size())}
		for i := range a.Data {
			a.Data[i] = value{f: ir.Element(data, t.DType, i)}
			if t.DType == ir.Int64 {
				a.Data[i].i = int64(binary.LittleEndian.Uint64(data[8*i:]))
			} else if !t.DType.IsFloat() {
				a.Data[i].i = int64(a.Data[i].f)
			}
		}
		result.arrays = append(result.arrays, a)
	}
	return result
}

// agrees says in which way a result differs from Keras's answer.
func agrees(c *call, got outcome, want answer) string {
	if want.Error != "" {
		if got.err == nil {
			return "no error"
		}
		return ""
	}
	if got.err != nil {
		return "error: " + got.err.Error()
	}
	if len(got.arrays) != len(want.Outputs) {
		return fmt.Sprintf("%d results", len(got.arrays))
	}
	for i, a := range got.arrays {
		w := want.Outputs[i]
		if !slices.Equal(a.Shape, w.Shape) {
			return fmt.Sprintf("shape %v, not %v", a.Shape, w.Shape)
		}
		if c.Op == "eigh" && i == 1 {
			turnColumns(a, w)
		}
		if text := near(c, a, w); text != "" {
			return text
		}
	}
	return ""
}

// turnColumns gives columns the signs that they have in w: those of eigenvectors are anybody's.
func turnColumns(a, w array) {
	n := a.Shape[len(a.Shape)-1]
	for first := 0; first < len(a.Data); first += n * n {
		for column := range n {
			along := 0.0
			for i := first + column; i < first+n*n; i += n {
				along += a.Data[i].f * w.Data[i].f
			}
			for i := first + column; i < first+n*n && along < 0; i += n {
				a.Data[i].f = -a.Data[i].f
			}
		}
	}
}

// singlePrecision are functions of which parts are float32 in Keras, whatever their types: constants, such as the 0.9
// of a quantile.
var singlePrecision = strings.Fields("gelu layer_normalization leaky_relu logaddexp2 logspace nanpercentile nanquantile percentile perspective_transform quantile rms_normalization")

// near compares numbers: integers are equal, floats within a tolerance of the coarsest type that took part.
func near(c *call, a, w array) string {
	tolerance := precision(a.DType)
	tolerance = max(tolerance, precision(w.DType))
	if slices.Contains(singlePrecision, c.Op) {
		tolerance = max(tolerance, 64*precision("float32"))
	}
	for _, in := range c.Inputs {
		tolerance = max(tolerance, precision(in.DType))
	}
	size := 0.0
	for _, x := range w.Data {
		if f := math.Abs(x.f); !math.IsInf(f, 0) && !math.IsNaN(f) {
			size = max(size, f)
		}
	}
	for i, x := range a.Data {
		y := w.Data[i]
		if x.f == y.f && (x.i == y.i || precision(a.DType) > 0) || x.f != x.f && y.f != y.f {
			continue
		}
		// The sinc of whole numbers is 0, and not that of a rounded π; 1 + tanh cancels in Keras's gelu of negative
		// numbers.
		if (c.Op == "sinc" || c.Op == "gelu") && math.Abs(x.f-y.f) <= precision("float32") {
			continue
		}
		// Gradients of cdist are sums of quotients of about 1, which may cancel.
		if c.Op == "cdist" && math.Abs(x.f-y.f) <= 16*precision("float32") {
			continue
		}
		if precision(a.DType) > 0 && math.Abs(x.f-y.f) <= 16*tolerance*(math.Abs(y.f)+min(size, 1e300)/4)+1e-37 {
			continue
		}
		return fmt.Sprintf("element %d is %v (%d), not %v (%d), of %s, %s", i, x.f, x.i, y.f, y.i, a.DType, w.DType)
	}
	return ""
}

// precision is the distance from 1 to the next number of a floating type, 0 of another.
func precision(d string) float64 {
	return map[string]float64{"float64": 1e-12, "float32": 0x1p-23, "float16": 0x1p-10, "bfloat16": 0x1p-7}[d]
}

// TestCalls compares recorded calls with Keras's answers: results, or that there is an error; the same results where
// inputs are views of other arrays; and the shapes and types that are worked out where axes are open. RANDOM_CALLS is
// another file of calls.
func TestCalls(t *testing.T) {
	files := []string{"testdata/calls.json.gz", "testdata/pictures.json.gz"}
	if file := os.Getenv("RANDOM_CALLS"); file != "" {
		files = []string{file}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var calls []*call
	for _, file := range files {
		calls = append(calls, load(t, file)...)
	}
	require.NotEmpty(t, calls)
	answered, opened := 0, 0
	for n, c := range calls {
		if differs(c) {
			continue
		}
		first := guarded(c, plain, rng)
		if text := agrees(c, first, c.Answer); text != "" {
			t.Errorf("call %d: %s\n%s", n, text, c.brief())
			continue
		}
		for view := transposed; view <= views; view++ {
			if text := same(first, guarded(c, view, rng)); text != "" {
				t.Errorf("call %d, view %d: %s\n%s", n, view, text, c.brief())
			}
		}
		if first.err != nil {
			continue
		}
		answered++
		text, accepted := open(c, first, rng)
		if text != "" && !(c.Op == "squeeze" && (c.Kwargs["axis"] == nil || string(c.Kwargs["axis"]) == "null")) { // Keras takes open axes for longer than 1
			t.Errorf("call %d, open axes: %s\n%s", n, text, c.brief())
		}
		if accepted {
			opened++
		}
	}
	require.Greater(t, answered, len(calls)*9/10)
	require.Greater(t, opened, len(calls)/2)
}

// differs tells calls in which the two backends agree on what this library does not do.
func differs(c *call) bool {
	switch c.Op {
	case "lcm", "gcd", "bitwise_or", "bitwise_xor", "bitwise_and": // a number has the type of the tensor that it meets, as with JAX
		return len(c.Inputs) == 1
	case "quantile": // a Functional model of Keras forgets the method; Keras makes NaN of 0·Inf
		return string(c.Kwargs["method"]) != `"linear"` || c.hasInfinity()
	case "i0": // which is Inf at infinities, Keras's Inf/Inf
		return c.hasInfinity()
	case "max", "min", "amax", "amin": // a part of a batch may be empty
		return c.Answer.Error != "" && len(c.Inputs[0].Shape) > 0 && c.Inputs[0].Shape[0] == 0
	case "round": // to tens, beyond the range of a type, is undefined
		return slices.ContainsFunc(c.Inputs[0].Data, func(v value) bool { return math.Abs(v.f) > 1<<30 })
	case "max_pool", "average_pool": // an empty result is an error
		return slices.Contains(c.Answer.Outputs[0].Shape, 0)
	case "layer_normalization": // of one number it is the rounding of its mean
		return c.Inputs[0].Shape[len(c.Inputs[0].Shape)-1] == 1
	case "unstack": // nothing can be no result of a layer
		return len(c.Answer.Outputs) == 0
	case "hard_tanh": // -1 is no number of an unsigned type
		return c.Answer.Error != ""
	case "vander": // of whole numbers in float32 there, beyond which a cast is undefined
		return slices.ContainsFunc(c.Inputs[0].Data, func(v value) bool { return math.Abs(v.f) > 1<<20 })
	case "saturate_cast": // the largest whole number of a type is rounded up there, beyond which a cast is undefined
		return precision(c.Inputs[0].DType) == 0 && string(c.Kwargs["dtype"]) == `"bfloat16"`
	case "sinc": // π times the largest number is infinite there
		return slices.ContainsFunc(c.Inputs[0].Data, func(v value) bool { return math.Abs(v.f) > math.MaxFloat32/4 })
	}
	return false
}

func (c *call) hasInfinity() bool {
	return slices.ContainsFunc(c.Inputs, func(a array) bool {
		return slices.ContainsFunc(a.Data, func(v value) bool { return math.IsInf(v.f, 0) })
	})
}

// guarded is compute, whose panics are shown with the call.
func guarded(c *call, view int, rng *rand.Rand) outcome {
	defer func() {
		if e := recover(); e != nil {
			panic(fmt.Sprintf("%v\n%s", e, c.brief()))
		}
	}()
	return compute(c, view, rng)
}

// same compares results of equal numbers bit for bit, but for the order of sums.
func same(a, b outcome) string {
	if (a.err == nil) != (b.err == nil) {
		return fmt.Sprintf("%v, %v", a.err, b.err)
	}
	for i := range a.arrays {
		if !slices.Equal(a.arrays[i].Shape, b.arrays[i].Shape) {
			return "shapes"
		}
		c := &call{Inputs: a.arrays}
		if text := near(c, a.arrays[i], b.arrays[i]); text != "" {
			return text
		}
	}
	return ""
}

// open makes some axes symbolic: the shapes that are worked out must fit those that were computed.
func open(c *call, first outcome, rng *rand.Rand) (text string, accepted bool) {
	results, err := c.results(func(shape []int) []int {
		s := slices.Clone(shape)
		for i := range s {
			if rng.IntN(2) == 0 {
				s[i] = -1
			}
		}
		return s
	})
	if err != nil {
		return "", false // what depends on lengths may be refused
	}
	for i, a := range first.arrays {
		if results[i].DType().String() != a.DType {
			return fmt.Sprintf("type %v, not %v", results[i].DType(), a.DType), true
		}
		shape := results[i].Shape()
		if len(shape) != len(a.Shape) {
			return fmt.Sprintf("shape %v, computed %v", shape, a.Shape), true
		}
		for j, n := range shape {
			if dim.Known(n) && n >= 0 && n != a.Shape[j] {
				return fmt.Sprintf("shape %v, computed %v", shape, a.Shape), true
			}
		}
	}
	return "", true
}
