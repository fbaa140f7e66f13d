package stablehlo_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

var update = flag.Bool("update", false, "write testdata/ops.mlir anew")

// Every case of the backends' suite lowers, so that no combination of types, shapes and attributes is left out. What
// the text computes is tested by package pjrt.
func TestEveryCaseLowers(t *testing.T) {
	lowered := map[ir.Op]bool{}
	for _, c := range kernelstest.Cases() {
		m, err := stablehlo.Lower(c.Program, stablehlo.Options{})
		require.NoError(t, err, c.Name)
		require.Contains(t, m.Text, "func.func public @main")
		lowered[c.Op] = true
	}
	for _, op := range ir.Ops() {
		if op < ir.AllReduce {
			require.True(t, lowered[op], "op %v has no case", op)
		}
	}
}

// The text of one case for each op, as it was last looked at. Elementwise ops that are composed of others are left
// out, save Relu, which has a lowering: theirs is the text of those others.
func TestText(t *testing.T) {
	var out strings.Builder
	seen := map[ir.Op]bool{}
	for _, c := range kernelstest.Cases() {
		if seen[c.Op] || hasEmpty(c.Program) || c.Op.IsElementwise() && c.Op.IsComposite() && c.Op != ir.Relu {
			continue
		}
		seen[c.Op] = true
		m, err := stablehlo.Lower(c.Program, stablehlo.Options{})
		require.NoError(t, err)
		out.WriteString("// " + c.Name + "\n" + m.Text + "\n")
	}
	for _, op := range []ir.Op{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.CollectiveBroadcast, ir.ReplicaID} {
		m, err := stablehlo.Lower(collective(t, op, 2), stablehlo.Options{Replicas: 2})
		require.NoError(t, err)
		out.WriteString("// " + op.String() + " over 2 replicas\n" + m.Text + "\n")
	}
	const file = "testdata/ops.mlir"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "go test ./kernels/stablehlo -update writes the file anew; look at what has changed")
}

func hasEmpty(p *ir.Program) bool {
	for v := range p.NumValues() {
		if p.Type(ir.Value(v)).Shape.Size() < 2 {
			return true
		}
	}
	return false
}

func collective(t *testing.T, op ir.Op, replicas int) *ir.Program {
	p := ir.New("collective")
	var in []ir.Value
	if op != ir.ReplicaID {
		in = append(in, p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}}))
	}
	out, err := p.Add("layer", op, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: replicas}, in...)
	require.NoError(t, err)
	p.AddOutput("y", out[0])
	return p
}

// Products keep the precision of their operands: accelerators would round them to bfloat16.
func TestProductsArePrecise(t *testing.T) {
	for _, c := range kernelstest.Cases() {
		m, err := stablehlo.Lower(c.Program, stablehlo.Options{})
		require.NoError(t, err)
		for line := range strings.Lines(m.Text) {
			if strings.Contains(line, "stablehlo.dot_general") || strings.Contains(line, "stablehlo.convolution") {
				require.Equal(t, 2, strings.Count(line, "HIGHEST"), line)
			}
		}
	}
}

// lookUp is a program that replaces its first input by a lookup in it.
func lookUp(t *testing.T) *ir.Program {
	p := ir.New("look up")
	table := p.AddInput("table", ir.Type{DType: ir.Float32, Shape: ir.Shape{5, 2}})
	indices := p.AddInput("indices", ir.Type{DType: ir.Int64, Shape: ir.Shape{5}})
	rows, err := p.Add("model/embedding", ir.Gather, ir.GatherAttrs{}, table, indices)
	require.NoError(t, err)
	p.AddAlias("table", rows[0], 0)
	return p
}

func TestFailureFlag(t *testing.T) {
	m, err := stablehlo.Lower(lookUp(t), stablehlo.Options{Donate: true, Number: 77})
	require.NoError(t, err)
	require.Equal(t, []stablehlo.Check{{Scope: "model/embedding", Op: ir.Gather, Length: 5}}, m.Checks)
	require.Contains(t, m.Text, "%arg2: tensor<3xi32>) -> (tensor<5x2xf32>, tensor<3xi32>)", "the flag comes last, in and out")
	require.Contains(t, m.Text, "{tf.aliasing_output = 0 : i32}")
	require.NoError(t, m.Failure([3]int32{}))
	require.NoError(t, m.Failure([3]int32{78, 1, -3}), "another module's")
	require.EqualError(t, m.Failure([3]int32{77, 1, -3}), "model/embedding: gather: index -3 is outside axis 0 of length 5; valid indices are 0 to 4")
}

func TestDonationIsAsked(t *testing.T) {
	m, err := stablehlo.Lower(lookUp(t), stablehlo.Options{})
	require.NoError(t, err)
	require.NotContains(t, m.Text, "aliasing_output")
}

// What a compiler says about an op names the layer, whatever it is called.
func TestLocations(t *testing.T) {
	p := ir.New("a name, with \"marks\"")
	x := p.AddInput("x", ir.Type{DType: ir.Float32})
	y, err := p.Add("réseau/\"dense\"\n", ir.Neg, nil, x)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	m, err := stablehlo.Lower(p, stablehlo.Options{})
	require.NoError(t, err)
	require.Contains(t, m.Text, "module @a_name__with__marks_ ")
	require.Contains(t, m.Text, `#loc0 = loc("r\C3\A9seau/\22dense\22\0A")`)
	require.Contains(t, m.Text, "stablehlo.negate %arg0 : tensor<f32> loc(#loc0)")
}

func TestErrors(t *testing.T) {
	_, err := stablehlo.Lower(collective(t, ir.AllReduce, 4), stablehlo.Options{Replicas: 2})
	require.EqualError(t, err, "stablehlo: layer: op all_reduce spans 4 replicas, the module is for 2")
	broken := lookUp(t)
	broken.Nodes[0].Inputs[1] = 99
	_, err = stablehlo.Lower(broken, stablehlo.Options{})
	require.ErrorContains(t, err, "not defined before its use")
}
