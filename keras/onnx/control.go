package onnx

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// inner starts a graph inside the current node, for the sub-program that get returns.
func (b *builder) inner(name string, get func(a ir.Attrs) *ir.Program) *builder {
	return &builder{w: b.w, g: &graph{name: b.w.unique(name)}, trace: get(b.node().Attrs), operands: map[ir.Value]operand{}}
}

// input makes input i of the sub-program an input of the graph.
func (b *builder) input(i int) {
	v := b.trace.Inputs[i].Value
	name := b.w.unique(b.g.name + "/input")
	t := b.trace.Type(v)
	b.g.inputs = append(b.g.inputs, info{name: name, dtype: t.DType, axes: axesOf(b.dims(v))})
	b.operands[v] = operand{name: name, rank: t.Shape.Rank()}
}

// takes makes input i of the sub-program refer to a value of the outer graph: bodies can use the names of the graphs
// around them.
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
	b.g.outputs = append(b.g.outputs, info{name: name, dtype: b.dtype(v), axes: axesOf(b.dims(v))})
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

// finish adds the node that contains the graphs, with the results of the current node.
func (b *builder) finish(op string, inputs []string, attributes ...attribute) {
	results := b.addAll(op, len(b.node().Outputs), inputs, attributes...)
	for i, v := range b.node().Outputs {
		b.set(v, results[i])
	}
}

// writeScan writes a loop over steps. Constants are not inputs if the body can refer to weights.
func writeScan(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ScanAttrs)
	inputs, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	body := b.inner("scan", func(a ir.Attrs) *ir.Program { return a.(ir.ScanAttrs).Body })
	moving := a.Carry + a.Xs
	around := map[string]ir.DType{}
	for i, v := range n.Inputs {
		if i < moving {
			body.input(i)
		} else {
			around[inputs[i]] = b.dtype(v)
			body.takes(i, b.operands[v])
		}
	}
	inputs = inputs[:moving]
	steps := a.Xs
	if steps == 0 { // ONNX infers the number of steps from an input
		length, err := b.length(a.Length)
		if err != nil {
			return err
		}
		inputs, steps = append(inputs, b.add("Expand", list(b.scalar(ir.Float32, 0), length))), 1
		body.g.inputs = append(body.g.inputs, info{name: body.g.unique(b.w, "step"), dtype: ir.Float32})
	}
	if err := body.body(); err != nil {
		return err
	}
	if err := body.outputs(); err != nil {
		return err
	}
	kept := body.carryAround(around, a.Carry)
	inputs = slices.Insert(inputs, a.Carry, kept...)
	direction := map[bool]int{true: 1}[a.Reverse]
	attributes := []attribute{{"body", body.g}, {"num_scan_inputs", steps}, {"scan_input_directions", slices.Repeat([]int{direction}, steps)}}
	stacked := len(n.Outputs) - a.Carry
	if stacked > 0 {
		attributes = append(attributes, attribute{"scan_output_directions", slices.Repeat([]int{direction}, stacked)})
	}
	results := b.addAll("Scan", len(n.Outputs)+len(kept), inputs, attributes...)
	results = slices.Concat(results[:a.Carry], results[a.Carry+len(kept):])
	for i, v := range n.Outputs {
		b.set(v, results[i])
	}
	return nil
}

// carryAround turns everything that the graph uses from the nodes of outer graphs into states that do not change,
// inserted after the first ones, and returns their outer names. This is needed because OpenVINO's Scan sees only
// weights and constants of outer graphs. around has the types of the names that were passed in; other names are
// lengths.
func (b *builder) carryAround(around map[string]ir.DType, states int) (outside []string) {
	names := map[string]string{}
	for _, t := range b.w.main.g.initializers {
		names[t.name] = t.name
	}
	for _, in := range b.g.inputs {
		names[in.name] = in.name
	}
	var inputs, outputs []info
	b.g.rename(names, func(name string) string {
		in := info{name: b.g.unique(b.w, "kept"), dtype: ir.Int64, axes: []any{1}}
		if d, ok := around[name]; ok {
			in.dtype, in.anyShape = d, true
		}
		out := in
		out.name = b.g.unique(b.w, "output")
		b.g.nodes = append(b.g.nodes, &node{name: b.g.unique(b.w, "Identity"), op: "Identity", inputs: list(in.name), outputs: list(out.name)})
		inputs, outputs, outside = append(inputs, in), append(outputs, out), append(outside, name)
		return in.name
	})
	b.g.inputs = slices.Insert(b.g.inputs, states, inputs...)
	b.g.outputs = slices.Insert(b.g.outputs, states, outputs...)
	return outside
}

// unique returns an unused name in the graph.
func (g *graph) unique(w *writer, name string) string { return w.unique(g.name + "/" + name) }

// rename replaces the names of node inputs by those in the table. define adds missing ones.
func (g *graph) rename(names map[string]string, define func(name string) string) {
	for _, n := range slices.Clone(g.nodes) {
		for i, in := range n.inputs {
			if in == "" {
				continue
			}
			if _, ok := names[in]; !ok {
				names[in] = define(in)
			}
			n.inputs[i] = names[in]
		}
		for _, a := range n.attributes {
			if inner, ok := a.value.(*graph); ok {
				for _, in := range inner.inputs {
					names[in.name] = in.name
				}
				inner.rename(names, define)
			}
		}
		for _, out := range n.outputs {
			names[out] = out
		}
	}
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
		body.g.inputs = append(body.g.inputs, info{name: body.g.unique(b.w, extra.name), dtype: extra.dtype})
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
	body.g.outputs = append([]info{{name: again, dtype: ir.Bool}}, body.g.outputs...)
	b.finish("Loop", append(list("", first), inputs[:a.State]...), attribute{"body", body.g})
	return nil
}
