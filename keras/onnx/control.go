package onnx

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// inner starts a graph inside the node that is being written, for the sub-program that get picks.
func (b *builder) inner(name string, get func(a ir.Attrs) *ir.Program) *builder {
	return &builder{w: b.w, g: &graph{name: b.w.unique(name)}, trace: get(b.node().Attrs), operands: map[ir.Value]operand{}}
}

// input makes input i of the sub-program an input of the graph.
func (b *builder) input(i int) {
	v := b.trace.Inputs[i].Value
	name := b.w.unique(b.g.name + "/input")
	t := b.trace.Type(v)
	b.g.inputs = append(b.g.inputs, info{name, t.DType, axesOf(b.dims(v))})
	b.operands[v] = operand{name: name, rank: t.Shape.Rank()}
}

// takes hands a value of the graph outside to input i of the sub-program: bodies see the names of the graphs around
// them.
func (b *builder) takes(i int, outer operand) { b.operands[b.trace.Inputs[i].Value] = outer }

// output makes a value of the sub-program an output of the graph, under a name of its own.
func (b *builder) output(v ir.Value) error {
	b.index = len(b.trace.Nodes) - 1 // for names and errors
	if b.index < 0 {
		b.index = 0
	}
	in, err := b.full(v)
	if err != nil {
		return err
	}
	name := b.w.unique(b.g.name + "/output")
	b.g.nodes = append(b.g.nodes, &node{name: b.w.unique(b.g.name + "/Identity"), op: "Identity", inputs: list(in), outputs: list(name)})
	b.g.outputs = append(b.g.outputs, info{name, b.dtype(v), axesOf(b.dims(v))})
	return nil
}

func (b *builder) outputs() error {
	for _, out := range b.trace.Outputs {
		if err := b.output(out.Value); err != nil {
			return err
		}
	}
	return nil
}

// finish adds the node that holds graphs, with the results of the node that is being written.
func (b *builder) finish(op string, inputs []string, attributes ...attribute) {
	results := b.addAll(op, len(b.node().Outputs), inputs, attributes...)
	for i, v := range b.node().Outputs {
		b.set(v, results[i])
	}
}

// writeScan writes a loop over steps. The constants are not inputs: the body names them.
func writeScan(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ScanAttrs)
	inputs, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	body := b.inner("scan", func(a ir.Attrs) *ir.Program { return a.(ir.ScanAttrs).Body })
	moving := a.Carry + a.Xs
	for i := range n.Inputs {
		if i < moving {
			body.input(i)
		} else {
			body.takes(i, b.operands[n.Inputs[i]])
		}
	}
	inputs = inputs[:moving]
	steps := a.Xs
	if steps == 0 { // ONNX counts the steps by an input
		length, err := b.length(a.Length)
		if err != nil {
			return err
		}
		inputs, steps = append(inputs, b.add("Expand", list(b.scalar(ir.Float32, 0), length))), 1
		body.g.inputs = append(body.g.inputs, info{b.w.unique(body.g.name + "/step"), ir.Float32, nil})
	}
	if err := body.body(); err != nil {
		return err
	}
	if err := body.outputs(); err != nil {
		return err
	}
	direction := map[bool]int{true: 1}[a.Reverse]
	attributes := []attribute{{"body", body.g}, {"num_scan_inputs", steps}, {"scan_input_directions", slices.Repeat([]int{direction}, steps)}}
	if stacked := len(n.Outputs) - a.Carry; stacked > 0 {
		attributes = append(attributes, attribute{"scan_output_directions", slices.Repeat([]int{direction}, stacked)})
	}
	b.finish("Scan", inputs, attributes...)
	return nil
}

// writeCond writes a choice between two graphs without inputs.
func writeCond(b *builder, n *ir.Node) error {
	if _, err := b.fullAll(n.Inputs); err != nil {
		return err
	}
	branch := func(name string, get func(a ir.Attrs) *ir.Program) (*graph, error) {
		g := b.inner(name, get)
		for i, v := range n.Inputs[1:] {
			g.takes(i, b.operands[v])
		}
		if err := g.body(); err != nil {
			return nil, err
		}
		return g.g, g.outputs()
	}
	yes, err := branch("then", func(a ir.Attrs) *ir.Program { return a.(ir.CondAttrs).Then })
	if err != nil {
		return err
	}
	no, err := branch("else", func(a ir.Attrs) *ir.Program { return a.(ir.CondAttrs).Else })
	if err != nil {
		return err
	}
	b.finish("If", list(b.operands[n.Inputs[0]].name), attribute{"then_branch", yes}, attribute{"else_branch", no})
	return nil
}

// test writes the condition of a loop into the graph of b, for the given states and constants.
func (b *builder) test(inputs []operand, get func(a ir.Attrs) *ir.Program, around *builder) (string, error) {
	cond := around.inner("condition", get)
	cond.g = b.g
	for i, o := range inputs {
		cond.takes(i, o)
	}
	if err := cond.body(); err != nil {
		return "", err
	}
	return cond.full(cond.trace.Outputs[0].Value)
}

// writeWhile writes a loop whose condition is computed before the first and after each step.
func writeWhile(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.WhileAttrs)
	inputs, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	condition := func(a ir.Attrs) *ir.Program { return a.(ir.WhileAttrs).Cond }
	now := make([]operand, len(n.Inputs))
	for i, v := range n.Inputs {
		now[i] = b.operands[v]
	}
	first, err := b.test(now, condition, b)
	if err != nil {
		return err
	}
	body := b.inner("while", func(a ir.Attrs) *ir.Program { return a.(ir.WhileAttrs).Body })
	for _, extra := range []struct {
		name  string
		dtype ir.DType
	}{{"iteration", ir.Int64}, {"go_on", ir.Bool}} {
		body.g.inputs = append(body.g.inputs, info{b.w.unique(body.g.name + "/" + extra.name), extra.dtype, nil})
	}
	for i := range n.Inputs {
		if i < a.State {
			body.input(i)
		} else {
			body.takes(i, now[i])
		}
	}
	if err := body.body(); err != nil {
		return err
	}
	if err := body.outputs(); err != nil {
		return err
	}
	next := slices.Clone(now)
	for i, out := range body.g.outputs {
		next[i] = operand{name: out.name, rank: len(out.axes)}
	}
	goOn, err := body.test(next, condition, b)
	if err != nil {
		return err
	}
	again := b.w.unique(body.g.name + "/again")
	body.g.nodes = append(body.g.nodes, &node{name: b.w.unique(body.g.name + "/Identity"), op: "Identity", inputs: list(goOn), outputs: list(again)})
	body.g.outputs = append([]info{{again, ir.Bool, nil}}, body.g.outputs...)
	b.finish("Loop", append(list("", first), inputs[:a.State]...), attribute{"body", body.g})
	return nil
}
