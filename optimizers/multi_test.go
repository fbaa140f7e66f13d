package optimizers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

func TestMultiOptimizerErrors(t *testing.T) {
	sgd := &optimizers.SGD{}
	rules := func(patterns ...string) *optimizers.OptimizerMap {
		m := &optimizers.OptimizerMap{}
		for _, p := range patterns {
			m.Rules = append(m.Rules, optimizers.PathRule{Pattern: p, Optimizer: sgd})
		}
		return m
	}
	for _, c := range []struct {
		m    optimizers.Chooser
		want string
	}{
		{nil, "optimizers: multi_optimizer: Map is nil; give it an *optimizers.OptimizerMap"},
		{rules("b.*"), "no pattern matches weight a and there is no default"},
		{rules("a|b", "[a-c]"), `weight a matches both "a|b" and "[a-c]"; make the patterns disjoint`},
		{rules("("), "optimizer map: error parsing regexp"},
		{&optimizers.OptimizerMap{Default: (*optimizers.SGD)(nil)}, "a nil *optimizers.SGD cannot be one of several optimizers"},
		{&optimizers.OptimizerMap{Default: optimizers.WithLossScale(sgd)}, "a *optimizers.LossScaleOptimizer cannot be one of several optimizers"},
		{&optimizers.OptimizerMap{Default: &optimizers.SGD{LearningRate: 1}}, "received the int 1"},
	} {
		a := variable(t, "a", array(t, ir.Float32, []int{1}, 1))
		require.ErrorContains(t, (&optimizers.MultiOptimizer{Map: c.m}).Build(distribute.Variables{a}), c.want)
	}
	o := &optimizers.MultiOptimizer{Map: rules("a")}
	_, err := o.Rate()
	require.ErrorContains(t, err, "multi_optimizer has no learning rate; ask the optimizers of its map")
	require.ErrorContains(t, o.SetLearningRate(1), "has no learning rate to set")
	_, err = optimizers.Get(optimizers.WithLossScale(o))
	require.ErrorContains(t, err, "needs an inner optimizer of this package")
	a, b := variable(t, "a", array(t, ir.Float32, []int{1}, 1)), variable(t, "b", array(t, ir.Float32, []int{1}, 1))
	require.Nil(t, o.Variables())
	require.NoError(t, o.Build(distribute.Variables{a}))
	require.ErrorContains(t, o.Build(distribute.Variables{b}), "weight b is unknown")
}

// TestMultiOptimizerState: a literal path goes before patterns; an optimizer without weights still has its place in the
// file; averages are in the order of the weights; the loss scale factor is that of the whole.
func TestMultiOptimizerState(t *testing.T) {
	ema := optimizers.Options{UseEMA: true, LossScaleFactor: new(1000.0)}
	o := &optimizers.MultiOptimizer{LossScaleFactor: new(4.0), Map: &optimizers.OptimizerMap{
		Rules: []optimizers.PathRule{
			{Pattern: "b", Optimizer: &optimizers.SGD{LearningRate: 1.0, Options: ema, Name: "first"}},
			{Pattern: ".", Optimizer: &optimizers.SGD{LearningRate: .5, Options: ema, Name: "second"}},
		},
		Default: &optimizers.Adam{},
	}}
	var weights distribute.Variables
	for _, name := range []string{"a", "b", "c"} {
		weights = append(weights, variable(t, name, array(t, ir.Float32, []int{1}, 1)))
	}
	tr := newTrainer(t, distribute.Default(), o, weights, 2)
	g := array(t, ir.Float32, []int{1}, 1)
	tr.step([]kernels.Array{g, g, g})
	require.Equal(t, []string{"multi_optimizer/iteration", "multi_optimizer/learning_rate", "first/iteration", "first/learning_rate", "first/b_average",
		"second/iteration", "second/learning_rate", "second/a_average", "second/c_average", "adam/iteration", "adam/learning_rate"}, paths(o.Variables()))
	require.Equal(t, []string{"second/a_average", "first/b_average", "second/c_average"}, paths(o.Averages()))
	for i, want := range []float64{1 - .5/4, 1 - 1./4, 1} {
		require.Equal(t, []float64{want}, valueOf(t, weights[i]))
	}
	require.Equal(t, []float64{1}, valueOf(t, o.Variables()[0]))
	require.NoError(t, weights[0].SetValue(array(t, ir.Float32, []int{1}, 9)))
	require.NoError(t, o.FinalizeVariables())
	require.Equal(t, []float64{1 - .5/4}, valueOf(t, weights[0]))
	r := distribute.NewReplica("test", 1, 1, 1)
	require.NotNil(t, o.ScaleLoss(r, ops.Ones(r, ir.Float32)))
}

// TestOptimizerMapKeepsItsOrder: rules are read and written in the order of the file, which is that of the variables.
func TestOptimizerMapKeepsItsOrder(t *testing.T) {
	text := `{"optimizer_map":{"class_name":"OptimizerMap","config":{"default_optimizer":{"class_name":"SGD","config":{}},` +
		`"optimizer_map":{"z":{"class_name":"Adam","config":{}},"a":{"class_name":"Lion","config":{}},"m":{"class_name":"SGD","config":{}}}}},"name":"x"}`
	got, err := optimizers.Get(config.Object{ClassName: "MultiOptimizer", Config: json.RawMessage(text)})
	require.NoError(t, err)
	m := got.(*optimizers.MultiOptimizer).Map.(*optimizers.OptimizerMap)
	require.Equal(t, []string{"z", "a", "m"}, []string{m.Rules[0].Pattern, m.Rules[1].Pattern, m.Rules[2].Pattern})
	require.IsType(t, &optimizers.Lion{}, m.Rules[1].Optimizer)
	encoded, err := config.Encode(got)
	require.NoError(t, err)
	out, err := json.Marshal(encoded)
	require.NoError(t, err)
	require.Regexp(t, `"optimizer_map":\{"z":.*"a":.*"m":`, string(out))
	for _, bad := range []string{`{"optimizer_map":{"class_name":"Dense","config":{}}}`, `{"optimizer_map":{"class_name":"OptimizerMap","config":{}}}`,
		`{"optimizer_map":{"class_name":"OptimizerMap","config":{"default_optimizer":{"class_name":"SGD","config":{}},"optimizer_map":[]}}}`} {
		_, err := optimizers.Get(config.Object{ClassName: "MultiOptimizer", Config: json.RawMessage(bad)})
		require.Error(t, err, bad)
	}
}
