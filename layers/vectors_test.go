package layers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

var kerasSets = []string{"layers_core", "layers_conv", "layers_pooling", "layers_normalization", "layers_reshaping_merging", "layers_regularization"}

// TestKeras runs the layers with weights, inputs and configurations from real Keras and compares results, masks,
// losses, new statistics and all gradients.
func TestKeras(t *testing.T) {
	for _, set := range kerasSets {
		t.Run(set, func(t *testing.T) {
			for _, c := range vectors.Load(t, set).Cases {
				t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
					newKerasCase(t, c).check()
				})
			}
		})
	}
}

// callInfo is what the cases record of the call.
type callInfo struct {
	Call struct {
		Args   []json.RawMessage
		Kwargs map[string]json.RawMessage
	}
	Trainable     []bool
	PreviousCalls [][]json.RawMessage `json:"previous_calls"`
	ComputeMask   json.RawMessage     `json:"compute_mask"` // masks of the arguments, for compute_mask only
}

// kerasCase is a case that is being traced and compared.
type kerasCase struct {
	*testing.T
	c       vectors.Case
	info    callInfo
	layer   layers.Layer
	replica *distribute.Replica
	inputs  map[string]*ops.Tensor
	order   []string
}

func newKerasCase(t *testing.T, c vectors.Case) *kerasCase {
	t.Helper()
	k := &kerasCase{T: t, c: c, inputs: map[string]*ops.Tensor{}}
	c.DecodeExtra(t, &k.info)
	l, err := layers.New(c.Class)
	require.NoError(t, err)
	require.NoError(t, config.Decode(c.Config, l))
	k.layer = l
	return k
}

// names returns the names of the inputs in an argument: one, or a list; "" stands for None.
func (k *kerasCase) names(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		var out []string
		for _, r := range list {
			out = append(out, k.names(r)...)
		}
		return out
	}
	var one struct{ Input string }
	require.NoError(k, json.Unmarshal(raw, &one))
	return []string{one.Input}
}

// arguments returns the tensors of a call's arguments, with their masks.
func (k *kerasCase) arguments(args []json.RawMessage) []*ops.Tensor {
	var out []*ops.Tensor
	for _, a := range args {
		for _, name := range k.names(a) {
			out = append(out, k.inputs[name])
		}
	}
	mask, ok := k.info.Call.Kwargs["mask"]
	if k.info.ComputeMask != nil {
		mask, ok = k.info.ComputeMask, true
	}
	if ok {
		for i, name := range k.names(mask) {
			if name != "" {
				out[i] = out[i].WithMask(k.inputs[name])
			}
		}
	}
	return out
}

// gradientSources are inputs, and weights, for which all reads count.
type gradientSources struct {
	tensors []*ops.Tensor
	earlier [][]*ops.Tensor
}

func (s gradientSources) Tensors(*ops.Graph) []*ops.Tensor          { return s.tensors }
func (s gradientSources) EarlierTensors(*ops.Graph) [][]*ops.Tensor { return s.earlier }

// reads returns the value of a weight, and its values before the layer assigned it.
func (k *kerasCase) reads(path string) (value *ops.Tensor, earlier []*ops.Tensor) {
	for _, v := range layers.Weights(k.layer) {
		if v.Path() == path {
			return k.replica.Read(v), distribute.Variables{v}.EarlierTensors(k.replica.Graph())[0]
		}
	}
	require.Fail(k, "no weight "+path)
	return nil, nil
}

func (k *kerasCase) check() {
	k.build()
	outputs, objective, losses, weights := k.trace()
	var names []string
	var results []*ops.Tensor
	var sources gradientSources
	add := func(name string, x *ops.Tensor) { names, results = append(names, name), append(results, x) }
	for i, y := range outputs {
		add(k.outputName(i, len(outputs)), y)
	}
	if _, ok := k.c.Outputs.Get("mask"); ok {
		require.NotNil(k, outputs[0].Mask(), "the result has no mask, Keras's has")
		add("mask", outputs[0].Mask())
	}
	for _, g := range k.c.Gradients {
		if x, ok := k.inputs[g.Name]; ok {
			sources.tensors, sources.earlier = append(sources.tensors, x), append(sources.earlier, nil)
		} else {
			require.Contains(k, weights, g.Name)
			value, earlier := k.reads(g.Name)
			sources.tensors, sources.earlier = append(sources.tensors, value), append(sources.earlier, earlier)
		}
	}
	for i, g := range ops.NewTape(k.replica).Gradients(objective, sources).Values {
		if g == nil {
			g = ops.ZerosLike(sources.tensors[i])
		}
		add("gradient "+k.c.Gradients[i].Name, g)
	}
	for _, v := range layers.Weights(k.layer) {
		if _, ok := k.c.Outputs.Get("after/" + v.Path()); ok {
			add("after/"+v.Path(), k.replica.Read(v))
		}
	}
	for _, l := range losses {
		add("loss", l)
	}
	k.compare(names, results, k.run(results))
}

// build creates the weights for inputs of these shapes, and checks their paths and order.
func (k *kerasCase) build() {
	var types []ir.Type
	for _, a := range k.info.Call.Args {
		for _, name := range k.names(a) {
			types = append(types, k.typeOf(k.c.Input(k, name)))
		}
	}
	_, err := layers.InferTypes(k.layer, types)
	require.NoError(k, err)
	var paths []string
	for _, v := range layers.Weights(k.layer) {
		paths = append(paths, v.Path())
	}
	assert.Equal(k, k.c.Weights.Names(), append([]string{}, paths...), "order of the weights")
}

func (k *kerasCase) typeOf(a vectors.Array) ir.Type {
	d, err := ir.ParseDType(a.DType)
	require.NoError(k, err)
	return ir.Type{DType: d, Shape: a.Shape}
}

func (k *kerasCase) outputName(i, n int) string {
	if _, single := k.c.Outputs.Get("output"); single && n == 1 {
		return "output"
	}
	return fmt.Sprintf("output_%d", i)
}

// trace calls the layer and returns its results, the objective whose gradients Keras recorded, the losses, and the
// weights before the call.
func (k *kerasCase) trace() (outputs []*ops.Tensor, objective *ops.Tensor, losses []*ops.Tensor, weights map[string]*ops.Tensor) {
	var err error
	func() {
		defer ops.Catch(&err)
		batch := 1
		if s := k.c.Inputs[0].Shape; len(s) > 0 {
			batch = s[0]
		}
		k.replica = distribute.NewReplica("test", 1, batch, batch)
		g := k.replica.Graph()
		for _, a := range k.c.Inputs {
			t := k.typeOf(a)
			k.inputs[a.Name], k.order = g.Input(a.Name, t.DType, t.Shape...), append(k.order, a.Name)
		}
		weights = map[string]*ops.Tensor{}
		for _, v := range layers.Weights(k.layer) {
			weights[v.Path()] = k.replica.Read(v)
		}
		context := k.replica.Inference()
		if string(k.info.Call.Kwargs["training"]) == "true" {
			context = k.replica.Training()
		}
		for _, p := range k.info.PreviousCalls {
			layers.InvokeAll(k.layer, context, k.arguments(p)...)
		}
		if in := k.arguments(k.info.Call.Args); string(k.info.Call.Kwargs["reverse"]) == "true" {
			outputs = []*ops.Tensor{k.layer.(*layers.ReversibleEmbedding).Reverse(context, in[0])}
		} else {
			outputs = layers.InvokeAll(k.layer, context, in...)
		}
		// The cases were made with Keras's stateless_call, which omits the penalty of activity regularizers and the
		// casts of mixed precision; TestActivityRegularizers and layertest cover those.
		for _, v := range layers.TrainableWeights(k.layer) {
			if penalty := v.Spec().Regularizer; penalty != nil {
				losses = append(losses, penalty(weights[v.Path()]))
			}
		}
		objective = k.objective(outputs, losses)
	}()
	require.NoError(k, err)
	return outputs, objective, losses, weights
}

// objective is Σ result·cotangent + Σ losses.
func (k *kerasCase) objective(outputs, losses []*ops.Tensor) *ops.Tensor {
	wide := ir.Float32
	if strings.HasSuffix(k.c.DType, "64") {
		wide = ir.Float64
	}
	total := ops.Zeros(k.replica, wide)
	for i, y := range outputs {
		name := strings.Replace(k.outputName(i, len(outputs)), "output", "cotangent", 1)
		if cotangent := k.inputs[name]; cotangent != nil {
			total = ops.Add(total, ops.Sum(ops.Multiply(ops.Cast(y, wide), ops.Cast(cotangent, wide))))
		}
	}
	for _, l := range losses {
		total = ops.Add(total, ops.Cast(l, wide))
	}
	return total
}

// run evaluates the program, rounding to the types of the values as a device does.
func (k *kerasCase) run(results []*ops.Tensor) []reference.Value {
	g := k.replica.Graph()
	for i, r := range results {
		g.Program().AddOutput(fmt.Sprint("y", i), ops.In(g, r))
	}
	var values []reference.Value
	for i, in := range g.Program().Inputs {
		var a vectors.Array
		if i < len(k.order) {
			a = k.c.Input(k, k.order[i])
		} else {
			a = k.c.Weight(k, in.Name)
		}
		t := g.Program().Type(in.Value)
		require.Equal(k, t.DType.String(), a.DType, "type of %s", in.Name)
		v, err := reference.New(t.DType, t.Shape, a.Data...)
		require.NoError(k, err)
		values = append(values, v)
	}
	out, err := testdevice.Run(g.Program(), values)
	require.NoError(k, err)
	return out
}

func (k *kerasCase) compare(names []string, results []*ops.Tensor, values []reference.Value) {
	var losses []float64
	done := map[string]bool{}
	for i, name := range names {
		v := values[i]
		got := make([]float64, v.Type.Shape.Size())
		for j := range got {
			got[j] = v.At(j)
		}
		if name == "loss" {
			losses = append(losses, got...)
			continue
		}
		gradient, isGradient := strings.CutPrefix(name, "gradient ")
		want, ok := k.c.Outputs.Get(name)
		if isGradient {
			want, ok = k.c.Gradients.Get(gradient)
		}
		require.True(k, ok, "Keras has no %s", name)
		done[name] = true
		if !strings.HasPrefix(k.c.DType, "mixed") {
			assert.Equal(k, want.DType, results[i].DType().String(), "type of %s", name)
		}
		k.c.Close(k, name, got, v.Type.Shape, want)
	}
	if want, ok := k.c.Outputs.Get("losses"); ok {
		done["losses"] = true
		slices.Sort(losses)
		slices.Sort(want.Data)
		k.c.Close(k, "losses", losses, []int{len(losses)}, want)
	}
	for _, a := range k.c.Outputs {
		assert.True(k, done[a.Name], "%s was not compared", a.Name)
	}
}
