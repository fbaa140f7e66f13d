package stablehlo

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Inputs, what replaces them and the other outputs carry the attributes of the partitioner that was asked for.
func TestShardings(t *testing.T) {
	p := ir.New("step")
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}})
	y, err := p.Add("", ir.Neg, nil, w)
	require.NoError(t, err)
	p.AddAlias("w", y[0], 0)
	p.AddOutput("y", y[0])
	for _, c := range []struct {
		options Options
		want    string
	}{
		{
			Options{Partitions: 2, Shardings: []string{"{devices=[2,1]0,1}"}},
			`(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]0,1}"}, %arg1: tensor<3xi32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]0,1}"}, tensor<4x2xf32> {mhlo.sharding = "{replicated}"}, tensor<3xi32> {mhlo.sharding = "{replicated}"})`,
		}, {
			Options{Partitions: 2, Shardings: []string{`[{"a"}, {}]`}, Mesh: `["a"=2]`, Donate: true},
			`(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})`,
		},
	} {
		m, err := Lower(p, c.options)
		require.NoError(t, err)
		require.Contains(t, m.Text, c.want)
		require.Contains(t, m.Text, "mhlo.num_partitions = 2")
		if c.options.Mesh != "" {
			require.Contains(t, m.Text, "  sdy.mesh @mesh = <[\"a\"=2]>\n")
		} else {
			require.NotContains(t, m.Text, "sdy")
		}
	}
}

// A layout within a program is written for the partitioner that was asked for, and for none where the program is not
// divided; an error of it names the layer.
func TestLayouts(t *testing.T) {
	p := ir.New("step")
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}})
	y, err := p.Add("dense", ir.Identity, ir.LayoutAttrs{Mesh: []int{2}, Axes: []int{0, -1}}, w)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	layout := func(text string) func(ir.LayoutAttrs, ir.Type) (string, error) {
		return func(a ir.LayoutAttrs, typ ir.Type) (string, error) {
			require.Equal(t, []int{0, -1}, a.Axes)
			require.Equal(t, ir.Shape{4, 2}, typ.Shape)
			return text, nil
		}
	}
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Partitions: 2, Shardings: []string{"{replicated}"}, Layout: layout("{devices=[2,1]0,1}")}, `stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,1]0,1}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>`},
		{Options{Partitions: 2, Shardings: []string{"[{}, {}]"}, Mesh: `["a"=2]`, Layout: layout(`[{"a"}, {}]`)}, `sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<4x2xf32>`},
		{Options{}, "return %arg0, "},
	} {
		m, err := Lower(p, c.options)
		require.NoError(t, err)
		require.Contains(t, m.Text, c.want)
	}
	_, err = Lower(p, Options{Shardings: []string{"{replicated}"}, Layout: func(ir.LayoutAttrs, ir.Type) (string, error) { return "", errors.New("another mesh") }})
	require.EqualError(t, err, "stablehlo: dense: another mesh")
}
