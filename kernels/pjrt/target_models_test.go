//go:build linux

package pjrt_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// block is one of a transformer's.
type block struct {
	Norm, Second *layers.LayerNormalization
	Attention    *layers.MultiHeadAttention
	Wide, Back   *layers.Dense
}

func newBlocks(n, heads, width int, causal bool) []*block {
	all := make([]*block, n)
	for i := range all {
		all[i] = &block{
			Norm: &layers.LayerNormalization{}, Second: &layers.LayerNormalization{},
			Attention: &layers.MultiHeadAttention{NumHeads: heads, KeyDim: width / heads, UseCausalMask: causal},
			Wide:      &layers.Dense{Units: 4 * width, Activation: "gelu"}, Back: &layers.Dense{Units: width},
		}
	}
	return all
}

func (b *block) through(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	n := layers.Invoke(b.Norm, c, x)
	x = ops.Add(x, layers.Invoke(b.Attention, c, n, n))
	return ops.Add(x, layers.Invoke(b.Back, c, layers.Invoke(b.Wide, c, layers.Invoke(b.Second, c, x))))
}

// languageModel is GPT-2.
type languageModel struct {
	Tokens, Places *layers.Embedding
	Blocks         []*block
	Norm           *layers.LayerNormalization
	Out            *layers.Dense
}

func (m *languageModel) Call(c *layers.Context, ids *ops.Tensor) *ops.Tensor {
	x := ops.Add(layers.Invoke(m.Tokens, c, ids), layers.Invoke(m.Places, c, ops.Arange(ids, ir.Int32, ids.Dim(1))))
	for _, b := range m.Blocks {
		x = b.through(c, x)
	}
	return layers.Invoke(m.Out, c, layers.Invoke(m.Norm, c, x))
}

// imageModel is a vision transformer.
type imageModel struct {
	Patches *layers.Conv2D
	Places  *layers.Embedding
	Blocks  []*block
	Norm    *layers.LayerNormalization
	Out     *layers.Dense
}

func (m *imageModel) Call(c *layers.Context, images *ops.Tensor) *ops.Tensor {
	x := layers.Invoke(m.Patches, c, images)
	x = ops.Reshape(x, x.Dim(0), x.Dim(1)*x.Dim(2), x.Dim(3))
	x = ops.Add(x, layers.Invoke(m.Places, c, ops.Arange(x, ir.Int32, x.Dim(1))))
	for _, b := range m.Blocks {
		x = b.through(c, x)
	}
	return layers.Invoke(m.Out, c, ops.Mean(layers.Invoke(m.Norm, c, x), 1))
}

// transformerKeys divide a transformer as is usual: heads and the wide layers by columns, what follows them by rows.
var transformerKeys = map[string][]string{
	".*(query|key|value)/kernel": {"", "model", ""}, ".*(query|key|value)/bias": {"model", ""}, ".*attention_output/kernel": {"model", "", ""},
	".*dense.*/kernel": {"", "model"}, ".*embedding/embeddings": {"", "model"},
}

// divided is a training step of one device, and the layouts of its inputs on a mesh of 16.
func divided(t *testing.T, mesh []int, keys map[string][]string, build func(s distribute.Strategy) (*keras.Model, *data.ArraySource)) (*ir.Program, [][]int) {
	t.Helper()
	var names []string
	for i := range mesh[0] * mesh[1] {
		names = append(names, kernels.Device{Kind: "cpu", Index: i}.String())
	}
	devices, err := distribution.NewDeviceMesh(mesh, []string{"batch", "model"}, names...)
	require.NoError(t, err)
	layouts := distribution.NewLayoutMap(devices)
	for key, axes := range keys {
		require.NoError(t, layouts.Set(key, axes...))
	}
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	m, batch := build(d)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	p, err := m.TrainingProgram(t.Context(), batch)
	require.NoError(t, err)
	all, err := d.InputLayouts(p)
	require.NoError(t, err)
	return p, all
}

// zeros is an array that costs nothing to fill.
func zeros(d ir.DType, shape ...int) kernels.Array {
	return kernels.NewArray(ir.Type{DType: d, Shape: shape})
}

// A step that is divided over four TPUs by layouts has a quarter of the divided variables on each, and replaces all.
func TestTargetMesh(t *testing.T) {
	target, err := pjrt.NewTarget(libtpu(t), "v5e:2x2")
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	p, layouts := divided(t, []int{2, 2}, map[string][]string{"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""}}, func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 128}}, keras.InputShape(256), distribute.Scope(s))
		require.NoError(t, err)
		return m, data.Arrays(zeros(ir.Float32, 64, 256), zeros(ir.Int32, 64))
	})
	a, err := target.CompileMesh(p, []int{2, 2}, layouts)
	require.NoError(t, err)
	state, whole := 0, 0
	for _, out := range p.Outputs {
		if out.Alias < 0 {
			continue
		}
		n := p.Type(out.Value).Bytes()
		whole += n
		for _, axis := range layouts[out.Alias] {
			if axis >= 0 {
				n /= 2
			}
		}
		state += n
	}
	t.Logf("%+v; %d of %d bytes of variables", a, state, whole)
	require.GreaterOrEqual(t, a.Aliased, int64(state))
	require.Less(t, a.Aliased, int64(whole), "a device has its part alone")
	_, err = target.CompileMesh(p, []int{2, 4}, layouts)
	require.ErrorContains(t, err, "a mesh of shape [2 4] with 4 devices")
}

// A layout within a program divides what is computed: a device does its part of the arithmetic alone.
func TestTargetLayout(t *testing.T) {
	target, err := pjrt.NewTarget(libtpu(t), "v5e:2x2")
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	flops := func(axes ...int) float64 {
		p := ir.New("layout")
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("layer", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{512, 64}})
		y := add(ir.Tanh, nil, x)
		if axes != nil {
			y = add(ir.Identity, ir.LayoutAttrs{Mesh: []int{4}, Axes: axes}, y)
		}
		p.AddOutput("y", add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, y, x))
		a, err := target.CompileMesh(p, []int{4}, [][]int{nil})
		require.NoError(t, err)
		return a.FLOPs
	}
	whole, rows := flops(), flops(0, -1)
	t.Logf("%g operations whole, %g divided", whole, rows)
	require.InEpsilon(t, whole/4, rows, 0.05)
}

// Large models compile for 16 TPUs. It takes the compiler minutes for each, so a variable asks for it: make
// test-tpu-models.
func TestTargetModels(t *testing.T) {
	if os.Getenv("GOKERAS_TPU_MODELS") == "" {
		t.Skip("GOKERAS_TPU_MODELS is not set: it takes the compiler minutes for each model (make test-tpu-models)")
	}
	path := libtpu(t)
	for name, build := range map[string]func(s distribute.Strategy) (*keras.Model, *data.ArraySource){
		"ViT-B16": func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := keras.NewModel(&imageModel{
				Patches: &layers.Conv2D{Filters: 768, KernelSize: []int{16}, Strides: []int{16}}, Places: &layers.Embedding{InputDim: 196, OutputDim: 768},
				Blocks: newBlocks(12, 12, 768, false), Norm: &layers.LayerNormalization{}, Out: &layers.Dense{Units: 1000},
			}, distribute.Scope(s), keras.DTypePolicy("mixed_bfloat16"))
			require.NoError(t, err)
			return m, data.Arrays(zeros(ir.Float32, 64, 224, 224, 3), zeros(ir.Int32, 64))
		},
		"GPT-2": func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := keras.NewModel(&languageModel{
				Tokens: &layers.Embedding{InputDim: 50304, OutputDim: 768}, Places: &layers.Embedding{InputDim: 1024, OutputDim: 768},
				Blocks: newBlocks(12, 12, 768, true), Norm: &layers.LayerNormalization{}, Out: &layers.Dense{Units: 50304, NoBias: true},
			}, distribute.Scope(s), keras.DTypePolicy("mixed_bfloat16"))
			require.NoError(t, err)
			return m, data.Arrays(zeros(ir.Int32, 16, 1024), zeros(ir.Int32, 16, 1024))
		},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := pjrt.NewTarget(path, "v5e:4x4")
			require.NoError(t, err)
			defer func() { require.NoError(t, target.Close()) }()
			p, layouts := divided(t, []int{4, 4}, transformerKeys, build)
			a, err := target.CompileMesh(p, []int{4, 4}, layouts)
			require.NoError(t, err)
			t.Logf("%+v", a)
			require.Less(t, a.Peak, int64(16<<30))
		})
	}
	t.Run("ResNet-50", func(t *testing.T) {
		target, err := pjrt.NewTarget(path, "v5e:4x4")
		require.NoError(t, err)
		defer func() { require.NoError(t, target.Close()) }()
		a, err := target.Compile(aheadProgram(t, func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := applications.NewResNet50(applications.Options{ClassifierActivation: "linear"}, distribute.Scope(s), keras.DTypePolicy("mixed_bfloat16"))
			require.NoError(t, err)
			return m, data.Arrays(zeros(ir.Float32, 512, 224, 224, 3), zeros(ir.Int32, 512))
		}, 16))
		require.NoError(t, err)
		t.Logf("%+v", a)
		require.Less(t, a.Peak, int64(16<<30))
	})
}
