package partition

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/ir"
)

// layout has the axis of the mesh along which each axis of an array is divided, or -1.
type layout []int

func whole(rank int) layout { return slices.Repeat(layout{-1}, rank) }

func (l layout) divided() bool { return parts.Divided(l) }

func (l layout) with(i, axis int) layout {
	out := slices.Clone(l)
	out[i] = axis
	return out
}

// value is a value of the original program, as it is laid out on the devices.
type value struct {
	id ir.Value // the part on the device
	at layout
	of ir.Type // type of the whole
	// spread is the operand if the value is a broadcast: broadcasting a part is cheaper than cutting a part of the
	// broadcast.
	spread *value
	axes   []int // of the broadcast
}

// spreader writes the program of the devices.
type spreader struct {
	out     *ir.Program
	mesh    parts.Mesh
	devices int
	scope   string
	own     map[int]ir.Value   // coordinates of the device
	moved   map[string]value   // values in other layouts
	numbers map[int32]ir.Value // constants
	top     *ir.Program
	wanted  map[ir.Value]layout // of values of top; see wishes
}

// failure is what spreaders panic with; Program returns it.
type failure struct{ error }

// Program rewrites a program for one device so that the devices of a mesh run it. layouts has one entry for each input:
// for each axis the axis of the mesh along which it is divided, or -1; nil is a full copy on every device. An output
// that replaces an input has the layout of that input, the others are full copies. All devices run the result, as
// replicas numbered in row-major order of the mesh. Layouts that do not fit are errors that name the input.
func Program(p *ir.Program, mesh []int, layouts [][]int) (out *ir.Program, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			out, err = nil, r.error
		default:
			panic(r)
		}
	}()
	s := &spreader{out: ir.New(p.Name), mesh: mesh, devices: parts.Mesh(mesh).Devices(), own: map[int]ir.Value{}, moved: map[string]value{}, numbers: map[int32]ir.Value{}}
	if len(layouts) != len(p.Inputs) {
		return nil, fmt.Errorf("partition: program %q has %d inputs, received layouts for %d", p.Name, len(p.Inputs), len(layouts))
	}
	in := make([]value, len(p.Inputs))
	for i, input := range p.Inputs {
		t := p.Type(input.Value)
		at, err := Layout(input.Name, t, mesh, layouts[i])
		if err != nil {
			return nil, err
		}
		in[i] = value{at: at, of: t, id: s.out.AddInput(input.Name, s.part(t, at))}
	}
	s.top, s.wanted = p, wishes(p, in)
	for i, v := range s.inline(p, in) {
		output := p.Outputs[i]
		if output.Alias >= 0 {
			s.out.AddAlias(output.Name, s.place(v, in[output.Alias].at).id, output.Alias)
		} else {
			s.out.AddOutput(output.Name, s.place(v, whole(len(v.at))).id)
		}
	}
	return s.out, nil
}

// Layout checks that an array can be divided as a layout says. It returns the layout without axes of the mesh that have
// only one device, which divide nothing.
func Layout(name string, t ir.Type, mesh, l []int) ([]int, error) {
	at, err := parts.Mesh(mesh).Layout(name, t, l)
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	return at, nil
}

// part is the type of each device's part.
func (s *spreader) part(t ir.Type, at layout) ir.Type { return s.mesh.Part(t, at) }

// add appends an operation on parts.
func (s *spreader) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := s.out.Add(s.scope, op, attrs, in...)
	if err != nil {
		s.failf("%v", err)
	}
	return out
}

func (s *spreader) failf(format string, arguments ...any) {
	panic(failure{fmt.Errorf("partition: %s: %s", s.scope, fmt.Sprintf(format, arguments...))})
}

// inline spreads the nodes of a program and returns its outputs.
func (s *spreader) inline(p *ir.Program, in []value) []value {
	values := make([]value, p.NumValues())
	for i, input := range p.Inputs {
		values[input.Value] = in[i]
	}
	for i, live := range p.Live() {
		if !live {
			continue
		}
		n := &p.Nodes[i]
		s.scope = n.Scope
		operands := make([]value, len(n.Inputs))
		for j, v := range n.Inputs {
			operands[j] = values[v]
		}
		for j, v := range s.node(p, n, operands) {
			values[n.Outputs[j]] = v
		}
	}
	results := make([]value, len(p.Outputs))
	for i, out := range p.Outputs {
		results[i] = values[out.Value]
	}
	return results
}

// node spreads one operation.
func (s *spreader) node(p *ir.Program, n *ir.Node, in []value) []value {
	if a, ok := n.Attrs.(ir.LayoutAttrs); ok {
		at, err := s.mesh.Fit(a, in[0].of)
		if err != nil {
			s.failf("%v", err)
		}
		return []value{s.place(in[0], at)}
	}
	if !slices.ContainsFunc(in, func(v value) bool { return v.at.divided() }) {
		return s.copies(p, n, in)
	}
	if n.Op == ir.Reshape {
		return []value{s.reshape(in[0], p.Type(n.Outputs[0]))}
	}
	if rule := ruleOf(n.Op); rule != nil {
		r := rule(p, n)
		if !n.Op.IsComposite() || n.Op.IsElementwise() || !r.needsWhole(in) {
			return s.apply(p, n, r, in)
		}
	}
	if n.Op.IsComposite() {
		return s.decompose(p, n, in)
	}
	return s.copies(p, n, in)
}

// copies computes an operation on whole arrays, on every device.
func (s *spreader) copies(p *ir.Program, n *ir.Node, in []value) []value {
	ids := make([]ir.Value, len(in))
	for i, v := range in {
		ids[i] = s.place(v, whole(len(v.at))).id
	}
	var out []value
	for j, id := range s.add(n.Op, n.Attrs, ids...) {
		t := p.Type(n.Outputs[j])
		out = append(out, value{id: id, at: whole(len(t.Shape)), of: t})
	}
	if a, ok := n.Attrs.(ir.BroadcastAttrs); ok {
		out[0].spread, out[0].axes = &in[0], a.Axes
	}
	return out
}

// decompose spreads the decomposition of a composite.
func (s *spreader) decompose(p *ir.Program, n *ir.Node, in []value) []value {
	inner := ir.New(p.Name)
	moved := ir.Node{Op: n.Op, Scope: n.Scope, Attrs: n.Attrs}
	for i, v := range n.Inputs {
		moved.Inputs = append(moved.Inputs, inner.AddInput(fmt.Sprint("x", i), p.Type(v)))
	}
	results, _, err := ir.Decompose(inner, &moved)
	if err != nil {
		s.failf("%v", err)
	}
	for i, v := range results {
		inner.AddOutput(fmt.Sprint("y", i), v)
	}
	scope := s.scope
	defer func() { s.scope = scope }()
	return s.inline(inner, in)
}
