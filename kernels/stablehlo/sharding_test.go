package stablehlo

import (
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
