package randomnets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// counts says how much was compared.
type counts struct{ steps, refused, worked, predicted int }

// TestRecordedNetworks compares recorded networks with ours: shapes with open axes, parameters, refusals, and the
// shapes of results.
func TestRecordedNetworks(t *testing.T) {
	n := compare(t, "testdata/networks.json.gz", 3)
	require.Greater(t, n.steps, 1800)
	require.Greater(t, n.refused, 350)
	require.Greater(t, n.worked, 400)
	require.Greater(t, n.predicted, 10)
}

// TestFreshNetworks compares networks that are drawn now. RANDOM_NETWORKS is a file that was drawn before.
func TestFreshNetworks(t *testing.T) {
	file := os.Getenv("RANDOM_NETWORKS")
	if file == "" {
		python := pythonOf(t)
		file = filepath.Join(t.TempDir(), "networks.json.gz")
		drawTo(t, python, "randomnets.py", "RANDOM_NETWORKS", "100", file)
	}
	n := compare(t, file, 100)
	require.Positive(t, n.steps)
}

// compare predicts with one in every networks.
func compare(t *testing.T, file string, every int) counts {
	t.Helper()
	var n counts
	for i, net := range readNetworks(t, file) {
		c := &comparison{t: t, where: fmt.Sprint("network ", i), counts: &n}
		if c.infer(net) && net.Run != nil && c.work(net) && i%every == 0 {
			c.predict(net)
		}
	}
	t.Logf("%d steps, of which Keras and GoKeras refuse %d; %d networks worked out, %d computed", n.steps, n.refused, n.worked, n.predicted)
	return n
}

// comparison is one network under comparison.
type comparison struct {
	t       *testing.T
	where   string
	counts  *counts
	tensors []*layers.KerasTensor // inputs first
	known   []bool                // by tensor: ours has a length that Keras leaves open
	made    []layers.Layer
	steps   []step // that work
}

// infer compares what is inferred of open axes; false where something differs.
func (c *comparison) infer(net network) bool {
	dtype := ir.Float32
	if net.Integer {
		dtype = ir.Int32
	}
	for k, s := range net.Inputs {
		c.tensors = append(c.tensors, layers.NewInput(fmt.Sprint("in", k), dtype, openShape(s)...))
		c.known = append(c.known, false)
	}
	for k, s := range net.Steps {
		where := fmt.Sprintf("%s, step %d: %v of %v", c.where, k, s, operands(s, c.tensors))
		c.counts.steps++
		known := slices.ContainsFunc(s.Take, func(i int) bool { return c.known[i] })
		l, err := s.layer()
		var y *layers.KerasTensor
		if err == nil {
			y = layers.Apply(l, operands(s, c.tensors)...)
			err = y.Err()
		}
		if s.Error != "" {
			if err == nil && !s.Crash && !known && !beyond(s) {
				return assert.Fail(c.t, "not refused", "%s: Keras says %q, ours has shape %s", where, s.Error, layers.ShapeString(y.Shape()))
			}
			c.counts.refused++
			continue
		}
		if err != nil && known && s.Class == "Dot" {
			return false // like Keras, ours takes no open axis beside a known one, and it knows one that Keras does not
		}
		if err != nil && known && (net.Run == nil || len(net.Run.Shapes) <= len(c.made)) {
			return false // what ours knows shows that it cannot work, and Keras's computation fails too
		}
		if !assert.NoError(c.t, err, "%s: Keras has %s", where, layers.ShapeString(openShape(s.Shape))) {
			return false
		}
		want := openShape(s.Shape)
		if !want.Equal(y.Shape()) && !net.mistaken(len(c.made), s.Shape) && !c.follows(s, want, y.Shape(), known) {
			return assert.Fail(c.t, "other shape", "%s: Keras has %s, ours %s", where, layers.ShapeString(want), layers.ShapeString(y.Shape()))
		}
		if !assert.Equal(c.t, s.Params, layers.Weights(l).Count(), "%s: parameters", where) {
			return false
		}
		c.tensors, c.made, c.steps = append(c.tensors, y), append(c.made, l), append(c.steps, s)
		c.known = append(c.known, !want.Equal(y.Shape()))
	}
	return true
}

// beyond reports a step that Keras refuses for what its code cannot do, and that works here: a ConvLSTM over open axes
// of images.
func beyond(s step) bool {
	return strings.HasPrefix(s.Class, "ConvLSTM") && strings.Contains(s.Error, "only support static input shapes")
}

// mistaken reports whether Keras infers for working step k what its own computation contradicts: ours must have the
// latter then.
func (n network) mistaken(k int, inferred []*int) bool {
	if n.Run == nil || k >= len(n.Run.Shapes) {
		return false
	}
	computed := n.Run.Shapes[k]
	for i, d := range inferred {
		if i < len(computed) && d != nil && *d != computed[i] {
			return true
		}
	}
	return len(computed) != len(inferred)
}

// follows reports whether ours differs from Keras's only in lengths that Keras leaves open and that follow from the
// inputs: a sum of an open axis and one of length 5 has length 5 if there is a result at all. known says that ours has
// such lengths in the inputs. That they are right shows in the computation.
func (c *comparison) follows(s step, want, got ir.Shape, known bool) bool {
	if len(want) != len(got) {
		return false
	}
	if s.Class == "EinsumDense" { // of which Keras lists the axes that an ellipsis stands for from the last to the first
		return slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
	}
	in := operands(s, c.tensors)
	merges := []string{"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"}
	switch {
	case known, s.Class == "Dot", strings.HasPrefix(s.Class, "Adaptive"): // Keras finds their shapes by computing with made-up lengths
		in = nil
	case !slices.Contains(merges, s.Class):
		return false
	}
	for i, d := range want {
		known := in == nil || slices.ContainsFunc(in, func(x *layers.KerasTensor) bool { return at(x, i, len(got)) == got[i] })
		if d != got[i] && !(d == layers.Unknown && known) {
			return false
		}
	}
	return true
}

// at is the length of axis i of a result of that rank in one of its inputs, which may have fewer axes.
func at(x *layers.KerasTensor, i, rank int) int {
	if i += len(x.Shape()) - rank; i < 0 {
		return 1
	}
	return x.Shape()[i]
}

// work compares the shapes that the computation has for the recorded lengths.
func (c *comparison) work(net network) bool {
	types := make([]ir.Type, len(net.Run.Inputs))
	for i, s := range net.Run.Inputs {
		types[i] = ir.Type{DType: c.tensors[i].DType(), Shape: s}
	}
	for k, l := range c.made {
		where := fmt.Sprintf("%s with %v, working step %d: %v of %v", c.where, net.Run.Inputs, k, c.steps[k], operands(c.steps[k], types))
		out, err := layers.InferTypes(l, operands(c.steps[k], types))
		if k == len(net.Run.Shapes) {
			if !net.Run.Crash {
				assert.Error(c.t, err, "%s: Keras says %q, ours has %v", where, net.Run.Error, out)
			}
			return false
		}
		if err != nil && slices.Contains(net.Run.Shapes[k], 0) {
			return false // JAX gives windows that do not fit an empty result; TensorFlow refuses them as we do
		}
		if !assert.NoError(c.t, err, "%s: Keras has %v", where, net.Run.Shapes[k]) {
			return false
		}
		if !assert.Equal(c.t, net.Run.Shapes[k], []int(out[0].Shape), where) {
			return false
		}
		types = append(types, out[0])
	}
	c.counts.worked++
	return true
}

// predict computes with a model of the network, where that is little work.
func (c *comparison) predict(net network) {
	last := len(c.tensors) - 1
	model, err := keras.NewFunctional(keras.Inputs(c.tensors[:len(net.Inputs)]...), keras.Outputs(c.tensors[last]))
	if err != nil { // an input that leads nowhere
		return
	}
	var arrays []any
	for _, s := range net.Run.Inputs {
		if ir.Shape(s).Size() > 1<<15 {
			return
		}
		of := ir.Float32
		if net.Integer {
			of = ir.Int32
		}
		arrays = append(arrays, kernels.NewArray(ir.Type{DType: of, Shape: s}))
	}
	y, err := model.PredictOnBatch(context.Background(), data.Arrays(arrays, nil))
	if assert.NoError(c.t, err, c.where) {
		assert.Equal(c.t, net.Run.Shapes[len(net.Run.Shapes)-1], []int(y.Shape()), c.where)
		c.counts.predicted++
	}
}
