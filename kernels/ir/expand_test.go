package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkExpands checks that nothing but primitives is left of a program, and that they fit together.
func checkExpands(t *testing.T, p *Program) *Program {
	t.Helper()
	q, err := Expand(p, nil)
	require.NoError(t, err)
	require.NoError(t, q.Verify())
	assert.Len(t, q.Outputs, len(p.Outputs))
	var walk func(p *Program)
	walk = func(p *Program) {
		for _, n := range p.Nodes {
			assert.False(t, n.Op.IsComposite(), "%v is left", n.Op)
			for _, body := range SubPrograms(n.Attrs) {
				walk(body)
			}
		}
	}
	walk(q)
	return q
}

func TestExpandText(t *testing.T) {
	p := New("classifier")
	x := p.AddInput("x", of(BFloat16, 4, 5))
	w := p.AddInput("w", of(BFloat16, 4, 5))
	sum := must(t, p, Add, nil, x, w)
	y, err := p.Add("head", Softmax, nil, sum[0])
	require.NoError(t, err)
	p.AddAlias("w", y[0], 1)
	p.AddOutput("sum", sum[0])
	assert.Equal(t, `program classifier(%0 x bfloat16[4 5], %1 w bfloat16[4 5]) {
  %2 = add(%0, %1) bfloat16[4 5]
  %3 = convert(%2) {dtype=float32} float32[4 5] // head
  %4 = reduce(%3) {kind=max axes=[1]} float32[4] // head
  %5 = broadcast(%4) {shape=[4 5] axes=[0]} float32[4 5] // head
  %6 = sub(%3, %5) float32[4 5] // head
  %7 = exp(%6) float32[4 5] // head
  %8 = reduce(%7) {kind=sum axes=[1]} float32[4] // head
  %9 = broadcast(%8) {shape=[4 5] axes=[0]} float32[4 5] // head
  %10 = div(%7, %9) float32[4 5] // head
  %11 = convert(%10) {dtype=bfloat16} bfloat16[4 5] // head
} -> (%11 w replaces %1, %2 sum)
`, checkExpands(t, p).String())
}

func TestExpandKeeps(t *testing.T) {
	p := New("p")
	x := p.AddInput("x", f32(4, 5))
	y := must(t, p, Relu, nil, must(t, p, Softmax, nil, x)...)
	p.AddOutput("y", y[0])
	q, err := Expand(p, func(_ *Program, n *Node) bool { return n.Op == Softmax })
	require.NoError(t, err)
	var ops []Op
	for _, n := range q.Nodes {
		ops = append(ops, n.Op)
	}
	assert.Equal(t, []Op{Softmax, Constant, Maximum}, ops)
	all, err := Expand(p, func(*Program, *Node) bool { return true })
	require.NoError(t, err)
	assert.Equal(t, p.String(), all.String())
	assert.Len(t, p.Nodes, 2, "the program itself is not changed")
}

// Composites inside loops and branches, and those that a decomposition makes, are expanded as well.
func TestExpandBodies(t *testing.T) {
	body := New("body")
	c := body.AddInput("c", f32(3))
	body.AddOutput("c", must(t, body, Relu, nil, c)[0])
	nested := New("nested")
	c = nested.AddInput("c", f32(3))
	flag := must(t, nested, Constant, ConstantAttrs{Scalar(Bool, 1)})
	nested.AddOutput("c", must(t, nested, Cond, CondAttrs{body, body}, flag[0], c)[0])
	stop := New("stop")
	stop.AddInput("c", f32(3))
	stop.AddOutput("", must(t, stop, Constant, ConstantAttrs{Scalar(Bool, 0)})[0])

	p := New("p")
	x := p.AddInput("x", f32(3))
	scanned := must(t, p, Scan, ScanAttrs{Body: nested, Length: 2, Carry: 1}, x)
	p.AddOutput("y", must(t, p, While, WhileAttrs{Cond: stop, Body: body, State: 1}, scanned[0])[0])
	require.NoError(t, p.Verify())
	checkExpands(t, p)
	assert.Equal(t, Relu, body.Nodes[0].Op, "the bodies themselves are not changed")
}

func TestExpandValuesInAnyOrder(t *testing.T) {
	p := New("p") // an input that is defined after a node
	x := p.AddInput("x", f32(3))
	y := must(t, p, Relu, nil, x)
	z := p.AddInput("z", f32(3))
	p.AddOutput("", must(t, p, Sub, nil, y[0], z)[0])
	q := checkExpands(t, p)
	last := q.Nodes[len(q.Nodes)-1]
	assert.Equal(t, q.Inputs[1].Value, last.Inputs[1])
}

func TestDecompose(t *testing.T) {
	p := New("p")
	x := p.AddInput("x", f32(3))
	results, ok, err := Decompose(p, &Node{Op: Neg, Inputs: []Value{x}})
	assert.Empty(t, results)
	assert.False(t, ok)
	require.NoError(t, err)
	results, ok, err = Decompose(p, &Node{Op: Relu, Inputs: []Value{x}, Scope: "dense"})
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "float32[3]", p.Type(results[0]).String())
	assert.Equal(t, "dense", p.Nodes[len(p.Nodes)-1].Scope)
	_, ok, err = Decompose(p, &Node{Op: MaxPool, Attrs: PoolAttrs{}, Inputs: []Value{x}})
	assert.ErrorContains(t, err, "ir: decomposing max_pool: x [3] must be (batch, spatial..., channels)")
	assert.False(t, ok)
	_, ok, err = Decompose(p, &Node{Op: EmbeddingGrad, Inputs: []Value{x, x, x}})
	assert.ErrorContains(t, err, "ir: decomposing embedding_grad")
	assert.False(t, ok)
}

func TestKnownActivation(t *testing.T) {
	for _, name := range []string{"linear", "relu", "sigmoid", "tanh", "softsign", "hard_sigmoid", "softplus", "elu", "selu", "gelu", "silu", "exponential"} {
		assert.True(t, KnownActivation(name), name)
	}
	assert.False(t, KnownActivation(""))
	assert.False(t, KnownActivation("mish"))
}
