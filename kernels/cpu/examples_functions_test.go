package cpu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// settingsOfFunctions are arguments that functions need, by parameter name.
var settingsOfFunctions = map[string]any{
	"output_size": 4, "kth": 2, "indices_or_sections": 2, "dtype": "int32", "x_min": -0.2, "x_max": 0.3, "pool_size": 2, "axis": 1, "block_size": 2,
	"size": 4, "sequence_length": 8, "sequence_stride": 4, "fft_length": 8, "fill_value": 3.0, "target_height": 8, "target_width": 8, "source": 3,
	"destination": 1, "num_classes": 5, "pad_width": []any{[]int{0, 0}, []int{1, 1}, []int{1, 2}, []int{0, 0}}, "q": 0.3, "max_val": 2.0, "pattern": "b h w c -> b c h w", "repeats": 2,
	"newshape": []int{8, -1}, "shift": 3, "num_segments": 8, "threshold": 0.1, "default_value": 0.2, "k": 2, "axis1": 1, "axis2": 2, "num": 4,
	"start_indices": []int{0, 1, 0, 0}, "shape": []int{8, 8, 8, 3}, "axes": 1, "kernel_size": 4, "top_cropping": 2, "left_cropping": 1,
	"bottom_cropping": 3, "right_cropping": 2, "top_padding": 2, "left_padding": 1, "bottom_padding": 3, "right_padding": 2,
}

// kernelsOfFunctions are the shapes of operands without an axis of examples.
var kernelsOfFunctions = map[string][]int{"kernel": {3, 3, 3, 3}, "depthwise_kernel": {3, 3, 3, 1}, "pointwise_kernel": {1, 1, 3, 3}, "gamma": {3}, "beta": {3}, "mean": {3}, "variance": {3}, "transform": {8}}

// ofConvolution traces a function of a convolution's results. A loop over blocks of examples begins with the
// convolution.
func ofConvolution(name string, whole, list bool, shape ...int) (p *ir.Program, err error) {
	defer ops.Catch(&err)
	signature, _, _ := layers.OperationSignature(name)
	_, parameters, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	g := ops.NewGraph(name)
	var args []any
	for parameter := range strings.SplitSeq(parameters, ", ") {
		if strings.ContainsAny(parameter, "=*") {
			break
		}
		if v, ok := settingsOfFunctions[parameter]; ok {
			args = append(args, v)
			continue
		}
		if s, ok := kernelsOfFunctions[parameter]; ok {
			args = append(args, g.Input(parameter, ir.Float32, s...))
			continue
		}
		var all []*ops.Tensor
		for range 2 {
			x, c := g.Input(parameter, ir.Float32, shape...), shape[len(shape)-1]
			kernel := slices.Repeat([]int{3}, len(shape)-2)
			low := slices.Repeat([]int{1}, len(kernel))
			y := ops.Conv(x, g.Input("kernel of "+parameter, ir.Float32, append(kernel, c, c)...), ops.ConvOptions{PadLow: low, PadHigh: low})
			if whole {
				y = ops.Cast(ops.Clip(ops.MultiplyScalar(ops.Abs(y), 3), 0, 4), ir.Int32)
			}
			if all = append(all, y); !list {
				break
			}
		}
		if list {
			args = append(args, all)
		} else {
			args = append(args, all[0])
		}
	}
	for _, y := range layers.Compute(g, name, args...) {
		g.Program().AddOutput("y", ops.In(g, y))
	}
	return g.Program(), nil
}

// resultsOf runs the program and returns the bytes of its results, and whether it had a loop over blocks.
func resultsOf(t *testing.T, p *ir.Program) (results [][]byte, looped bool) {
	t.Helper()
	device := kernels.Device{Kind: cpu.Kind}
	e, err := cpu.Load(p, kernels.CompileOptions{Device: device}, false)
	require.NoError(t, err, "%v", p)
	defer e.Close()
	buffer := func(typ ir.Type) kernels.Buffer {
		b, err := cpu.Backend{}.NewBuffer(device, typ)
		require.NoError(t, err)
		return b
	}
	var in, out []kernels.Buffer
	for k, v := range p.Inputs {
		b := buffer(p.Type(v.Value))
		var data []byte
		for i := range p.Type(v.Value).Shape.Size() {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(math.Sin(float64(i*(k+2)+k)))))
		}
		require.NoError(t, b.Write(data))
		in = append(in, b)
	}
	for _, o := range p.Outputs {
		out = append(out, buffer(p.Type(o.Value)))
	}
	require.NoError(t, e.Run(context.Background(), in, out))
	for _, b := range out {
		data := make([]byte, b.Type().Bytes())
		require.NoError(t, b.Read(data))
		results = append(results, data)
	}
	return results, cpu.Loops(e)
}

// TestBlocksOfFunctions applies every function of keras.ops to a convolution, in blocks of examples and for the whole
// batch. The bits are the same, except for sums over all examples, which a step after the loop adds in another order
// than a step that also computes their terms.
func TestBlocksOfFunctions(t *testing.T) {
	shapes := [][]int{{8, 12, 12, 3}, {8, 12, 4}, {8, 12, 12}, {8, 16, 2}}
	var looped []string
	tried := 0
	for _, name := range layers.OperationNames() {
		var p *ir.Program
		shapes := shapes
		if name == "ssim" { // rows that are too long for windows of several images at a time, which are in no loop
			shapes = [][]int{{8, 12, 40, 3}}
		}
		for i := range 4 * len(shapes) {
			q, err := ofConvolution(name, i/2%2 == 1, i%2 == 1, shapes[i/4]...)
			if err == nil {
				p = q
				break
			}
		}
		if p == nil {
			continue
		}
		tried++
		want, _ := resultsOf(t, p)
		restore := cpu.ForceBlocks(512)
		got, loop := resultsOf(t, p)
		restore()
		if loop {
			looped = append(looped, name)
		}
		for i := range want {
			if len(want[i]) == 4 {
				a, b := math.Float32frombits(binary.LittleEndian.Uint32(want[i])), math.Float32frombits(binary.LittleEndian.Uint32(got[i]))
				assert.InEpsilon(t, 1+math.Abs(float64(a)), 1+math.Abs(float64(b)), 1e-5, "%s: %v, in blocks of examples %v", name, a, b)
				continue
			}
			assert.True(t, bytes.Equal(want[i], got[i]), "%s: result %d has other bits in blocks of examples", name, i)
		}
	}
	assert.Contains(t, looped, "ssim")
	assert.Greater(t, tried, 280)
	assert.Greater(t, len(looped), 260)
}

// TestSsimOfManyPictures: nodes in a loop over examples whose results have no reader used to crash the compiler.
func TestSsimOfManyPictures(t *testing.T) {
	g := ops.NewGraph("ssim")
	a, b := g.Input("a", ir.Float32, 42, 64, 64, 3), g.Input("b", ir.Float32, 42, 64, 64, 3)
	for _, y := range layers.Compute(g, "ssim", a, b, 1.0) {
		g.Program().AddOutput("y", ops.In(g, y))
	}
	e, err := cpu.Load(g.Program(), kernels.CompileOptions{Device: kernels.Device{Kind: cpu.Kind}}, false)
	require.NoError(t, err)
	defer e.Close()
	require.True(t, cpu.Loops(e))
}
