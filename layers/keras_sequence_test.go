package layers_test

import (
	"encoding/json"
	"fmt"
	"reflect"
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
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestKerasSequence runs the recurrent and attention layers with configurations, weights, inputs, states and masks from
// real Keras and compares results, masks, losses, new statistics and all gradients: on the reference interpreter, and
// on the CPU.
func TestKerasSequence(t *testing.T) {
	for _, set := range []string{"layers_sequence", "layers_rnn", "layers_attention"} {
		if !slices.Contains(vectors.Sets(), set) {
			continue
		}
		for _, c := range vectors.Load(t, set).Cases {
			t.Run(set+"/"+c.Name, func(t *testing.T) {
				s := newSequenceCase(t, set, c)
				s.compare(s.onReference())
				s.compare(s.onCPU())
			})
		}
	}
}

// TestKerasSequenceConfig: what a layer writes is what Keras wrote for it.
func TestKerasSequenceConfig(t *testing.T) {
	for _, c := range vectors.Load(t, "layers_sequence").Cases {
		t.Run(c.Name, func(t *testing.T) {
			s := newSequenceCase(t, "layers_sequence", c)
			o, err := layers.ToObject(s.layer)
			require.NoError(t, err)
			assert.Equal(t, c.Class, o["class_name"])
			text, err := json.Marshal(o["config"])
			require.NoError(t, err)
			var got, want map[string]any
			require.NoError(t, json.Unmarshal(text, &got))
			require.NoError(t, json.Unmarshal(c.Config, &want))
			assert.Equal(t, plain(want), plain(got))
		})
	}
}

// plain removes what Keras notes about shapes in nested objects, and null: a missing key means the same.
func plain(x any) any {
	switch x := x.(type) {
	case map[string]any:
		delete(x, "build_config")
		for k, v := range x {
			if v == nil {
				delete(x, k)
			} else {
				plain(v)
			}
		}
	case []any:
		for _, v := range x {
			plain(v)
		}
	}
	return x
}

// sequenceCase is one case.
type sequenceCase struct {
	*testing.T
	set  string
	c    vectors.Case
	info struct {
		Call          sequenceCall
		Masks         map[string]string
		PreviousCalls [][]json.RawMessage `json:"previous_calls"`
	}
	layer layers.Layer
	names []string // of the results of the last call of trace
}

type sequenceCall struct {
	Args   []json.RawMessage
	Kwargs map[string]json.RawMessage
}

func newSequenceCase(t *testing.T, set string, c vectors.Case) *sequenceCase {
	t.Helper()
	s := &sequenceCase{T: t, set: set, c: c}
	c.DecodeExtra(t, &s.info)
	s.layer = s.newLayer()
	return s
}

// newLayer creates and builds the layer, and checks its weights.
func (s *sequenceCase) newLayer() layers.Layer {
	l, err := layers.New(s.c.Class)
	require.NoError(s, err)
	require.NoError(s, config.Decode(s.c.Config, l))
	for key, field := range map[string]string{"use_causal_mask": "UseCausalMask", "return_attention_scores": "ReturnAttentionScores"} {
		if string(s.info.Call.Kwargs[key]) == "true" {
			reflect.ValueOf(l).Elem().FieldByName(field).SetBool(true)
		}
	}
	r := distribute.NewReplica("build", 1, 1, 1)
	r.Probing = true
	func() {
		var err error
		defer func() { require.NoError(s, err) }()
		defer ops.Catch(&err)
		layers.InvokeAll(l, r.Inference(), s.arguments(s.inputs(r.Graph()), s.info.Call.Args)...)
	}()
	var paths []string
	for _, v := range layers.Weights(l) {
		paths = append(paths, v.Path())
	}
	require.Equal(s, s.c.Weights.Names(), append([]string{}, paths...), "paths and order of the weights")
	return l
}

func (s *sequenceCase) inputs(g *ops.Graph) map[string]*ops.Tensor {
	out := map[string]*ops.Tensor{}
	for _, a := range s.c.Inputs {
		d, err := ir.ParseDType(a.DType)
		require.NoError(s, err)
		out[a.Name] = g.Input(a.Name, d, a.Shape...)
	}
	return out
}

// inputNames flattens an argument; "" stands for None.
func inputNames(t *testing.T, raw json.RawMessage) []string {
	var list []json.RawMessage
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &list) == nil && list != nil {
		var out []string
		for _, r := range list {
			out = append(out, inputNames(t, r)...)
		}
		return out
	}
	var one struct{ Input string }
	require.NoError(t, json.Unmarshal(raw, &one))
	return []string{one.Input}
}

// arguments returns the inputs of a call, with their masks.
func (s *sequenceCase) arguments(in map[string]*ops.Tensor, args []json.RawMessage) []*ops.Tensor {
	kwargs := s.info.Call.Kwargs
	var out []*ops.Tensor
	for _, a := range args {
		for _, name := range inputNames(s.T, a) {
			x := in[name]
			if m, ok := s.info.Masks[name]; ok {
				x = x.WithMask(in[m])
			}
			out = append(out, x)
		}
	}
	masks := inputNames(s.T, kwargs["mask"])
	explicit := []string{"initial_state", "attention_mask"}
	if kwargs["initial_state"] != nil {
		masks, explicit = nil, []string{"initial_state", "mask"}
	}
	if _, heads := kwargs["value_mask"]; heads || kwargs["query_mask"] != nil || kwargs["key_mask"] != nil {
		masks = []string{"", "", ""}
		for i, key := range []string{"query_mask", "value_mask", "key_mask"} {
			if names := inputNames(s.T, kwargs[key]); names != nil {
				masks[i] = names[0]
			}
		}
		if s.c.Class == "MultiHeadAttention" {
			masks[0] = "" // Keras replaces this argument by the tensor's mask
		}
	}
	for i, name := range masks {
		if name != "" {
			out[i] = out[i].WithMask(in[name])
		}
	}
	for _, key := range explicit {
		for _, name := range inputNames(s.T, kwargs[key]) {
			out = append(out, in[name])
		}
	}
	return out
}

// trace calls the layer and returns the results that Keras's file has, in the order of s.names.
func (s *sequenceCase) trace(r *distribute.Replica, l layers.Layer, in map[string]*ops.Tensor) []*ops.Tensor {
	weights := map[string]*ops.Tensor{}
	for _, v := range layers.Weights(l) {
		weights[v.Path()] = r.Read(v)
	}
	outputs := layers.InvokeAll(l, s.context(r), s.arguments(in, s.info.Call.Args)...)
	var losses []*ops.Tensor
	if s.set == "layers_sequence" { // the other sets come from stateless_call, which omits the penalty of activity regularizers
		losses = slices.Clone(r.Losses())
	}
	for _, v := range layers.TrainableWeights(l) {
		if penalty := v.Spec().Regularizer; penalty != nil {
			losses = append(losses, penalty(weights[v.Path()]))
		}
	}
	s.names = nil
	var results, sources []*ops.Tensor
	add := func(name string, x *ops.Tensor) { s.names, results = append(s.names, name), append(results, x) }
	for i, y := range outputs {
		add(s.outputName(i, len(outputs)), y)
		s.addMask(y, strings.Replace(s.outputName(i, len(outputs)), "output", "mask", 1), i, add)
	}
	for _, g := range s.c.Gradients {
		source := in[g.Name]
		if source == nil {
			source = weights[g.Name]
		}
		require.NotNil(s, source, g.Name)
		sources = append(sources, source)
	}
	for i, g := range ops.Grad(s.objective(r, outputs, losses, in), sources...) {
		if g == nil {
			g = ops.ZerosLike(sources[i])
		}
		add("gradient "+s.c.Gradients[i].Name, g)
	}
	for _, v := range layers.Weights(l) {
		if name := "after/" + v.Path(); v.Spec().Frozen && r.Read(v) != weights[v.Path()] {
			add(name, r.Read(v))
		}
	}
	if len(losses) > 0 {
		for i := range losses {
			losses[i] = ops.Cast(losses[i], s.wide())
		}
		add("losses", ops.Stack(0, losses...))
	}
	return results
}

func (s *sequenceCase) context(r *distribute.Replica) *layers.Context {
	c := r.Inference()
	c.Training = string(s.info.Call.Kwargs["training"]) == "true"
	var err error
	c.Policy, err = ops.ParseDTypePolicy(s.c.DType)
	require.NoError(s, err)
	return c
}

// addMask adds the mask of a result. Other sets than layers_sequence do not record all of them.
func (s *sequenceCase) addMask(y *ops.Tensor, name string, i int, add func(string, *ops.Tensor)) {
	if s.set != "layers_sequence" && i == 0 {
		name = "mask"
	}
	_, has := s.c.Outputs.Get(name)
	if s.set != "layers_sequence" && !has {
		return
	}
	require.Equal(s, has, y.Mask() != nil, "whether result %d has a mask", i)
	if has {
		add(name, y.Mask())
	}
}

func (s *sequenceCase) outputName(i, n int) string {
	if _, single := s.c.Outputs.Get("output"); single && n == 1 {
		return "output"
	}
	return fmt.Sprintf("output_%d", i)
}

func (s *sequenceCase) wide() ir.DType {
	if strings.HasSuffix(s.c.DType, "64") {
		return ir.Float64
	}
	return ir.Float32
}

// objective is Σ result·cotangent + Σ losses.
func (s *sequenceCase) objective(r *distribute.Replica, outputs, losses []*ops.Tensor, in map[string]*ops.Tensor) *ops.Tensor {
	total := ops.Zeros(r, s.wide())
	for i, y := range outputs {
		if c := in[strings.Replace(s.outputName(i, len(outputs)), "output", "cotangent", 1)]; c != nil {
			total = ops.Add(total, ops.Sum(ops.Multiply(ops.Cast(y, s.wide()), c)))
		}
	}
	for _, l := range losses {
		total = ops.Add(total, ops.Cast(l, s.wide()))
	}
	return total
}

func (s *sequenceCase) batch() int { return s.c.Inputs[0].Shape[0] }

// compare checks the results in s.names, and that no result of Keras is missing.
func (s *sequenceCase) compare(results []kernels.Array) {
	seen := map[string]bool{}
	for i, name := range s.names {
		gradient, isGradient := strings.CutPrefix(name, "gradient ")
		want, ok := s.c.Outputs.Get(name)
		if isGradient {
			want, ok = s.c.Gradients.Get(gradient)
		}
		if !assert.True(s, ok, "Keras has no %s", name) {
			continue
		}
		seen[name] = true
		got := results[i].Float64s()
		if name == "losses" {
			want.Data = slices.Clone(want.Data)
			slices.Sort(want.Data)
			slices.Sort(got)
		}
		if strings.HasPrefix(name, "output") && !strings.HasPrefix(s.c.DType, "mixed") {
			assert.Equal(s, want.DType, results[i].Type.DType.String(), "type of %s", name)
		}
		if strings.HasSuffix(gradient, "key/bias") && s.wide() == ir.Float32 {
			want.ATol = max(want.ATol, 1e-5) // zero up to rounding: a bias of the keys shifts all scores of a query equally
		}
		if testdevice.Name() != "" && gradient == "query" && strings.HasSuffix(s.c.Name, "causal_cross/float32") {
			want.ATol = max(want.ATol, 3e-6) // differences of sums that another order rounds differently
		}
		s.c.Close(s, name, got, results[i].Type.Shape, want)
	}
	for _, a := range s.c.Outputs {
		assert.True(s, seen[a.Name], "%s was not compared", a.Name)
	}
}
