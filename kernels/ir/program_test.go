package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// must adds a node and fails the test when its rule does not accept it.
func must(t *testing.T, p *Program, op Op, attrs Attrs, in ...Value) []Value {
	t.Helper()
	out, err := p.Add("", op, attrs, in...)
	require.NoError(t, err)
	return out
}

func vector(n int) Type { return Type{Float32, Shape{n}} }

// training is a small program with most features of the text form: scopes, attributes, several results, a loop,
// aliases.
func training(t *testing.T) *Program {
	body := New("body")
	c, x := body.AddInput("c", vector(2)), body.AddInput("x", vector(2))
	sum := must(t, body, Add, nil, c, x)
	body.AddOutput("c", sum[0])
	body.AddOutput("", x)

	p := New("step")
	in := p.AddInput("x", Type{Float32, Shape{8, 3}})
	w := p.AddInput("w", Type{Float32, Shape{3, 2}})
	y, err := p.Add("dense", Dot, DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, in, w)
	require.NoError(t, err)
	start := must(t, p, Constant, ConstantAttrs{Scalar(Float32, 0.5, 2)})
	loop, err := p.Add("rnn", Scan, ScanAttrs{Body: body, Length: 8, Carry: 1, Xs: 1}, start[0], y[0])
	require.NoError(t, err)
	sorted := must(t, p, Sort, SortAttrs{Axis: 1, Descending: true}, w)
	p.AddOutput("y", loop[0])
	p.AddAlias("w", sorted[0], 1)
	return p
}

const trainingText = `program step(%0 x float32[8 3], %1 w float32[3 2]) {
  %2 = dot(%0, %1) {lhs_batch=[] rhs_batch=[] lhs_contract=[1] rhs_contract=[0]} float32[8 2] // dense
  %3 = constant() {float32[2](0.5)} float32[2]
  %4, %5 = scan(%3, %2) {length=8 carry=1 xs=1 reverse=false} float32[2] float32[8 2] // rnn
    program body(%0 c float32[2], %1 x float32[2]) {
      %2 = add(%0, %1) float32[2]
    } -> (%2 c, %1)
  %6, %7 = sort(%1) {axis=1 descending=true} float32[3 2] int32[3 2]
} -> (%4 y, %6 w replaces %1)
`

func TestPrint(t *testing.T) {
	p := training(t)
	require.NoError(t, p.Verify())
	assert.Equal(t, trainingText, p.String())
	assert.Equal(t, "program() {\n} -> ()\n", New("").String())
}

func TestPrintBrokenProgram(t *testing.T) {
	p := training(t)
	p.Nodes[2].Attrs = ScanAttrs{Length: 8, Carry: 1, Xs: 1}
	p.Nodes[3].Op = Op(250)
	assert.Contains(t, p.String(), "    program missing\n")
	assert.Contains(t, p.String(), "op(250)(%1)")
}

func TestAttrString(t *testing.T) {
	for want, attrs := range map[string]Attrs{
		"":                             nil,
		"type=int32[3] axis=0":         IotaAttrs{Type{Int32, Shape{3}}, 0},
		"shape=[2 3] stream=7":         RngAttrs{Shape{2, 3}, 7},
		"dtype=bfloat16":               ConvertAttrs{BFloat16},
		"direction=le":                 CompareAttrs{Le},
		"axis=1 mode=clip":             GatherAttrs{1, IndexClip},
		"epsilon=1e-07":                NormAttrs{1e-7},
		"rule=adam values=[0.9 0.999]": OptimizerAttrs{"adam", []float64{0.9, 0.999}},
		"float64[2][1 2]":              ConstantAttrs{Literal{Type: Type{Float64, Shape{2}}, Data: append(AppendElement(nil, Float64, 1), AppendElement(nil, Float64, 2)...)}},
		"conv={strides=[1] dilation=[2] pad_low=[0] pad_high=[1] groups=3} shape=[4 5]": ConvGradAttrs{
			ConvAttrs{[]int{1}, []int{2}, []int{0}, []int{1}, 3}, Shape{4, 5}},
	} {
		assert.Equal(t, want, AttrString(attrs))
	}
}

func TestHashIgnoresNames(t *testing.T) {
	p, q := training(t), training(t)
	assert.Equal(t, p.Hash(), q.Hash())
	assert.Len(t, p.Hash(), 64)
	q.Name = "other"
	q.Inputs[0].Name, q.Outputs[0].Name = "a", "b"
	q.Nodes[0].Scope = "elsewhere"
	SubPrograms(q.Nodes[2].Attrs)[0].Name = "inner"
	SubPrograms(q.Nodes[2].Attrs)[0].Inputs[0].Name = "z"
	assert.Equal(t, p.Hash(), q.Hash())
}

func TestHashSeesMeaning(t *testing.T) {
	base := training(t).Hash()
	for name, change := range map[string]func(p *Program){
		"an op":              func(p *Program) { p.Nodes[3].Op = ArgMax },
		"an attribute":       func(p *Program) { p.Nodes[3].Attrs = SortAttrs{Axis: 1} },
		"a constant":         func(p *Program) { p.Nodes[1].Attrs = ConstantAttrs{Scalar(Float32, 0.25, 2)} },
		"an operand":         func(p *Program) { p.Nodes[3].Inputs[0] = 0 },
		"a type":             func(p *Program) { p.types[0].DType = Float64 },
		"a shape":            func(p *Program) { p.types[0].Shape = Shape{4, 3} },
		"an alias":           func(p *Program) { p.Outputs[1].Alias = -1 },
		"an output":          func(p *Program) { p.Outputs[0].Value = 5 },
		"fewer outputs":      func(p *Program) { p.Outputs = p.Outputs[:1] },
		"the body of a loop": func(p *Program) { SubPrograms(p.Nodes[2].Attrs)[0].Nodes[0].Op = Sub },
		"fewer nodes":        func(p *Program) { p.Nodes = p.Nodes[:3] },
	} {
		p := training(t)
		change(p)
		assert.NotEqual(t, base, p.Hash(), name)
	}
}

func TestVerifyRejects(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Program)
		want   string
	}{
		"operand used before it is defined": {func(p *Program) { p.Nodes[0].Inputs[0] = 4 }, `node 0 dot (scope "dense"): operand 0, %4, is not defined before its use`},
		"operand out of range":              {func(p *Program) { p.Nodes[0].Inputs[1] = 99 }, "operand 1, %99, is not defined"},
		"negative operand":                  {func(p *Program) { p.Nodes[0].Inputs[1] = -1 }, "operand 1, %-1, is not defined"},
		"value defined twice":               {func(p *Program) { p.Nodes[1].Outputs[0] = 2 }, "%2 is defined twice"},
		"input defined twice":               {func(p *Program) { p.Inputs[1].Value = 0 }, `%0 is defined twice, second time as input 1 "w"`},
		"input out of range":                {func(p *Program) { p.Inputs[1].Value = 50 }, "but the program has 8 values"},
		"input without a type":              {func(p *Program) { p.types[0] = Type{} }, "needs an element type"},
		"result out of range":               {func(p *Program) { p.Nodes[1].Outputs[0] = 50 }, "is %50, but the program has 8 values"},
		"wrong result type":                 {func(p *Program) { p.types[2] = vector(3) }, "result 0 has type float32[3], its rule gives float32[8 2]"},
		"too few results":                   {func(p *Program) { p.Nodes[3].Outputs = p.Nodes[3].Outputs[:1] }, "has 1 results, its rule gives 2"},
		"unknown op":                        {func(p *Program) { p.Nodes[0].Op = Op(250) }, "op(250) is not an operation"},
		"no op":                             {func(p *Program) { p.Nodes[0].Op = OpInvalid }, "invalid is not an operation"},
		"too few operands":                  {func(p *Program) { p.Nodes[0].Inputs = p.Nodes[0].Inputs[:1] }, "dot takes 2 operands, received 1"},
		"no attributes":                     {func(p *Program) { p.Nodes[0].Attrs = nil }, "needs attributes of type ir.DotAttrs, received <nil>"},
		"wrong attributes":                  {func(p *Program) { p.Nodes[0].Attrs = AxisAttrs{} }, "needs attributes of type ir.DotAttrs, received ir.AxisAttrs"},
		"output not defined":                {func(p *Program) { p.Outputs[0].Value = 77 }, `output 0 "y", %77, is not defined`},
		"alias of no input":                 {func(p *Program) { p.Outputs[1].Alias = 2 }, `output "w" replaces input 2, but there are 2 inputs`},
		"alias of another type":             {func(p *Program) { p.Outputs[1].Alias = 0 }, `output "w" of type float32[3 2] cannot replace input "x" of type float32[8 3]`},
		"two outputs replace one input":     {func(p *Program) { p.AddAlias("again", p.Outputs[1].Value, 1) }, `outputs "w" and "again" both replace input "w"`},
		"loop without a body":               {func(p *Program) { p.Nodes[2].Attrs = ScanAttrs{Length: 8, Carry: 1, Xs: 1} }, "the body is missing"},
		"broken body": {func(p *Program) { SubPrograms(p.Nodes[2].Attrs)[0].Nodes[0].Op = OpInvalid },
			`node 2 scan (scope "rnn"): ir: program "body": node 0 invalid`},
	} {
		t.Run(name, func(t *testing.T) {
			p := training(t)
			c.change(p)
			assert.ErrorContains(t, p.Verify(), c.want)
		})
	}
}

func TestAddRejects(t *testing.T) {
	p := New("p")
	x := p.AddInput("x", vector(3))
	_, err := p.Add("", Neg, nil, x+1)
	assert.EqualError(t, err, "ir: neg: operand 0 is %1, but the program has 1 values")
	_, err = p.Add("", Add, nil, x)
	assert.EqualError(t, err, "ir: add takes 2 operands, received 1")
	_, err = p.Add("", Attention, nil, x)
	assert.EqualError(t, err, "ir: attention takes 3 to 4 operands, received 1")
	_, err = p.Add("", Concat, AxisAttrs{})
	assert.EqualError(t, err, "ir: concat takes at least 1 operands, received 0")
	_, err = p.Add("", Neg, AxisAttrs{}, x)
	assert.EqualError(t, err, "ir: neg[float32[3]]: takes no attributes, received ir.AxisAttrs")
	assert.Empty(t, p.Nodes, "nothing is added on an error")
	assert.Equal(t, 1, p.NumValues())
}

func TestAddCopiesOperands(t *testing.T) {
	p := New("p")
	in := []Value{p.AddInput("x", vector(3)), p.AddInput("y", vector(3))}
	must(t, p, Add, nil, in...)
	in[0] = 1
	assert.Equal(t, []Value{0, 1}, p.Nodes[0].Inputs)
}

func TestLive(t *testing.T) {
	p := New("p")
	x := p.AddInput("x", vector(4))
	used := must(t, p, Neg, nil, x)
	dead := must(t, p, Exp, nil, used[0])
	must(t, p, Log, nil, dead[0])
	must(t, p, AllReduce, CollectiveAttrs{Kind: Sum, Replicas: 2}, must(t, p, Abs, nil, x)...)
	second := must(t, p, Sort, SortAttrs{}, used[0])
	must(t, p, ReplicaID, CollectiveAttrs{Replicas: 2})
	p.AddOutput("positions", second[1])
	assert.Equal(t, []bool{true, false, false, true, true, true, false}, p.Live())
}

// A loop whose body communicates may not be dropped, however deep the collective is.
func TestLiveInsideBodies(t *testing.T) {
	inner := New("inner")
	c := inner.AddInput("c", vector(4))
	inner.AddOutput("c", must(t, inner, AllReduce, CollectiveAttrs{Kind: Sum, Replicas: 2}, c)[0])
	middle := New("middle")
	c = middle.AddInput("c", vector(4))
	middle.AddOutput("c", must(t, middle, Scan, ScanAttrs{Body: inner, Length: 2, Carry: 1}, c)[0])
	quiet := New("quiet")
	c = quiet.AddInput("c", vector(4))
	quiet.AddOutput("c", c)

	p := New("p")
	x := p.AddInput("x", vector(4))
	must(t, p, Scan, ScanAttrs{Body: middle, Length: 2, Carry: 1}, must(t, p, Neg, nil, x)...)
	must(t, p, Scan, ScanAttrs{Body: quiet, Length: 2, Carry: 1}, x)
	assert.Equal(t, []bool{true, true, false}, p.Live())
}

func TestReplaceNode(t *testing.T) {
	longer := func(extra ...Type) *Program { // hands out the carry before each step as well
		body := New("body")
		c := body.AddInput("c", vector(2))
		body.AddOutput("c", must(t, body, Neg, nil, c)[0])
		for range extra {
			body.AddOutput("before", c)
		}
		return body
	}
	p := New("p")
	x := p.AddInput("x", vector(2))
	final := must(t, p, Scan, ScanAttrs{Body: longer(), Length: 3, Carry: 1}, x)
	p.AddOutput("y", final[0])
	out, err := p.ReplaceNode(0, Scan, ScanAttrs{Body: longer(vector(2)), Length: 3, Carry: 1}, []Value{x})
	require.NoError(t, err)
	assert.Equal(t, []Value{1, 2}, out)
	assert.Equal(t, "float32[3 2]", p.Type(out[1]).String())
	require.NoError(t, p.Verify())

	before := p.String()
	_, err = p.ReplaceNode(0, Neg, nil, []Value{x})
	assert.EqualError(t, err, "ir: replacing scan: 2 results become 1")
	_, err = p.ReplaceNode(0, Sort, SortAttrs{}, []Value{x})
	assert.EqualError(t, err, "ir: replacing scan: result 1 changes from float32[3 2] to int32[2]")
	_, err = p.ReplaceNode(0, Neg, nil, []Value{9})
	assert.ErrorContains(t, err, "the program has 3 values")
	assert.Equal(t, before, p.String(), "an error changes nothing")
}

func TestSubPrograms(t *testing.T) {
	a, b := New("a"), New("b")
	assert.Equal(t, []*Program{a}, SubPrograms(ScanAttrs{Body: a}))
	assert.Equal(t, []*Program{a, b}, SubPrograms(WhileAttrs{Cond: a, Body: b}))
	assert.Equal(t, []*Program{a, b}, SubPrograms(CondAttrs{Then: a, Else: b}))
	assert.Empty(t, SubPrograms(AxisAttrs{}))
	assert.Empty(t, SubPrograms(nil))
	assert.True(t, strings.HasPrefix(a.String(), "program a("))
}

// TestCopiesOfProgramsGrowApart adds nodes to a program and to a copy of it in turns.
func TestCopiesOfProgramsGrowApart(t *testing.T) {
	p := New("p")
	x := p.AddInput("x", Type{Float32, Shape{2}})
	y := p.AddInput("y", Type{Float32, Shape{2}})
	add := func(p *Program, a, b Value) Value {
		out, err := p.Add("", Add, nil, a, b)
		require.NoError(t, err)
		return out[0]
	}
	add(p, x, y)
	q, copied := p.Clone(), *p
	for range 100 {
		add(p, x, x)
		add(q, y, y)
		add(&copied, y, x)
	}
	for i := 1; i <= 100; i++ {
		require.Equal(t, []Value{x, x}, p.Nodes[i].Inputs)
		require.Equal(t, []Value{y, y}, q.Nodes[i].Inputs)
		require.Equal(t, []Value{y, x}, copied.Nodes[i].Inputs)
		require.Equal(t, []Value{Value(i + 2)}, p.Nodes[i].Outputs)
	}
	require.NoError(t, p.Verify())
	require.NoError(t, q.Verify())
	require.NoError(t, copied.Verify())
}
