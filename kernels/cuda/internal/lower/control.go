package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// shifted returns a place that moves with more loops.
func shifted(p Place, strides ...Stride) Place {
	p.Strides = append(append([]Stride{}, p.Strides...), strides...)
	return p
}

// scan launches the body's kernels once for each step. Carried values have separate memory, which is written at the end
// of each step, after all of it has been read.
func (s *scope) scan(n *ir.Node) {
	a := n.Attrs.(ir.ScanAttrs)
	loop := s.plan.Loops
	s.plan.Loops++
	carries := n.Outputs[:a.Carry]
	var begin []copying
	inputs := make([]Place, 0, len(n.Inputs))
	for i, v := range n.Inputs {
		switch {
		case i < a.Carry:
			begin = append(begin, copying{s.p.Type(v), s.places[v], s.places[carries[i]]})
			inputs = append(inputs, s.places[carries[i]])
		case i < a.Carry+a.Xs:
			inputs = append(inputs, shifted(s.places[v], Stride{loop, int64(a.Body.Type(a.Body.Inputs[i].Value).Bytes())}))
		default:
			inputs = append(inputs, s.places[v])
		}
	}
	s.copyAll(n, begin, false)
	placesOf := func(values []ir.Value) (places []Place) {
		for _, v := range values {
			places = append(places, s.places[v])
		}
		return places
	}
	var steps []Step
	body := s.open(a.Body, inputs, &steps, s.guard)
	f := body.fuse()
	body.steps = s.steps
	if s.inRows(n, a, body, f, inputs[:a.Carry], placesOf(n.Inputs[a.Carry:a.Carry+a.Xs]), placesOf(n.Outputs[a.Carry:])) {
		return
	}
	body.steps = &steps
	to := make([]Place, len(a.Body.Outputs))
	for i, out := range a.Body.Outputs[a.Carry:] {
		to[a.Carry+i] = shifted(s.places[n.Outputs[a.Carry+i]], Stride{loop, int64(a.Body.Type(out.Value).Bytes())})
	}
	results := body.write(f, to)
	body.carry(n, results[:a.Carry], inputs[:a.Carry])
	body.giveOutputs()
	*s.steps = append(*s.steps, Step{Kind: Loop, Scope: n.Scope, Op: n.Op, Loop: loop, Length: a.Length, Reverse: a.Reverse, Body: steps})
}

// carry moves results to the places of the states. A result that is itself another state's old value is copied aside
// first.
func (s *scope) carry(n *ir.Node, results, states []Place) {
	kept := make([]Place, len(results))
	var aside, last []copying
	for i, r := range results {
		kept[i] = r
		for j, other := range states {
			if j != i && same(r, other) {
				t := s.p.Type(s.p.Outputs[i].Value)
				kept[i] = Place{Space: Arena, Offset: s.arena.take(t.Bytes())}
				aside = append(aside, copying{t, r, kept[i]})
				break
			}
		}
	}
	s.copyAll(n, aside, false)
	for i, r := range kept {
		if !same(r, states[i]) {
			last = append(last, copying{s.p.Type(s.p.Outputs[i].Value), r, states[i]})
		}
	}
	s.copyAll(n, last, false)
	for i, r := range kept {
		if !same(r, results[i]) {
			s.arena.give(r.Offset, s.p.Type(s.p.Outputs[i].Value).Bytes())
		}
	}
}

// giveOutputs frees the arena memory of a body's results.
func (s *scope) giveOutputs() {
	for _, out := range s.p.Outputs {
		if v := out.Value; s.taken[v] {
			s.taken[v] = false
			s.arena.give(s.places[v].Offset, s.p.Type(v).Bytes())
		}
	}
}

// while asks the host after each round whether to continue.
func (s *scope) while(n *ir.Node) {
	a := n.Attrs.(ir.WhileAttrs)
	s.conditional++
	defer func() { s.conditional-- }()
	s.plan.Fixed = false
	var inputs []Place
	var begin []copying
	for i, v := range n.Inputs {
		if i < a.State {
			begin = append(begin, copying{s.p.Type(v), s.places[v], s.places[n.Outputs[i]]})
			inputs = append(inputs, s.places[n.Outputs[i]])
		} else {
			inputs = append(inputs, s.places[v])
		}
	}
	s.copyAll(n, begin, false)
	var head, steps []Step
	on := Place{Space: Arena, Offset: s.arena.take(1)}
	condition := s.open(a.Cond, inputs, &head, s.guard)
	result := condition.body([]Place{{}})
	condition.gate(n, result[0], on, false)
	condition.giveOutputs()
	body := s.open(a.Body, inputs, &steps, s.guard)
	results := body.body(make([]Place, len(a.Body.Outputs)))
	body.carry(n, results, inputs[:a.State])
	body.giveOutputs()
	s.arena.give(on.Offset, 1)
	*s.steps = append(*s.steps, Step{Kind: While, Scope: n.Scope, Op: n.Op, Head: head, Body: steps, Predicate: on})
}

// cond launches both branches, each with a guard.
func (s *scope) cond(n *ir.Node) {
	a := n.Attrs.(ir.CondAttrs)
	s.conditional++
	defer func() { s.conditional-- }()
	var inputs []Place
	for _, v := range n.Inputs[1:] {
		inputs = append(inputs, s.places[v])
	}
	for i, branch := range []*ir.Program{a.Then, a.Else} {
		guard := Place{Space: Arena, Offset: s.arena.take(1)}
		s.gate(n, s.places[n.Inputs[0]], guard, i == 1)
		inside := s.open(branch, inputs, s.steps, guard)
		to := make([]Place, len(n.Outputs))
		for j, v := range n.Outputs {
			to[j] = s.places[v]
		}
		inside.body(to)
		inside.giveOutputs()
		s.arena.give(guard.Offset, 1)
	}
}

// gate writes the guard of a branch: whether the predicate (or its negation) holds, and so does the enclosing guard. It
// runs even if the enclosing guard is false.
func (s *scope) gate(n *ir.Node, predicate, to Place, opposite bool) {
	unguarded := *s
	unguarded.guard = Place{}
	g := unguarded.kernel(n)
	g.k.BranchIf(g.compare("ne", "s32", g.k.Op(ptx.B32, "mov.u32", special("%tid.x")), ptx.Int32(0)), g.exit)
	x := g.load(ir.Bool, address(g.place(predicate)))
	if opposite {
		x = g.not(x)
	}
	if s.guard.Space != Nowhere {
		x = g.both(x, g.load(ir.Bool, address(g.place(s.guard))))
	}
	g.store(ir.Bool, address(g.place(to)), x)
	g.launch([3]int{1, 1, 1}, 32)
}

// collective passes operands and results to the communicator. With one replica the results are copies of the operands.
func (s *scope) collective(n *ir.Node) {
	a, _ := n.Attrs.(ir.CollectiveAttrs)
	if a.Replicas <= 1 {
		for i, v := range n.Inputs {
			s.copyTo(n, s.p.Type(v), s.places[v], s.places[n.Outputs[i]], false)
		}
		return
	}
	if s.conditional > 0 {
		s.failf(n, "replicas on this backend do not meet inside a while loop or a branch, which some of them might not take; move the collective out of it")
	}
	step := Step{Kind: Collect, Scope: n.Scope, Op: n.Op, Attrs: a}
	for _, list := range [][]ir.Value{n.Inputs, n.Outputs} {
		for _, v := range list {
			step.Values = append(step.Values, Region{s.p.Type(v), s.places[v]})
		}
	}
	s.plan.Collects++
	*s.steps = append(*s.steps, step)
}
