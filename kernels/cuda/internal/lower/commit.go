package lower

import "github.com/gokeras/gokeras/kernels/ir"

// commitInPlace finds the outputs that replace inputs and that a kernel may write directly into the inputs' memory (not
// at all in a failed step), and gives them these places. The others are copied there at the end of the program.
//
// Such a kernel must run after everything that may fail and after every other kernel that reads the old value, and its
// threads may read only those elements of the old value that they replace.
func (s *scope) commitInPlace(f *fusion, to []Place) {
	safe := -1
	for i := range s.p.Nodes {
		if s.p.Nodes[i].Op.Traits().MayFail {
			safe = i
		}
	}
	outputs := map[ir.Value]int{}
	for _, out := range s.p.Outputs {
		outputs[out.Value]++
	}
	for i, out := range s.p.Outputs {
		v, at := out.Value, s.position[out.Value]
		if out.Alias < 0 || outputs[v] > 1 || at <= safe || at < 0 || !f.kernel[at] || inlined[s.makers[v].Op] == nil {
			continue
		}
		old := s.p.Inputs[out.Alias].Value
		if outputs[old] == 0 && f.read[old] <= at && s.readsInPlace(f, v, old) {
			to[i] = Place{Space: Output, Index: i}
			s.committed[v] = true
		}
	}
}

// readsInPlace reports whether the kernel of v, for each element it computes, reads only the element of old at the same
// position.
func (s *scope) readsInPlace(f *fusion, v, old ir.Value) bool {
	type read struct {
		v         ir.Value
		elsewhere bool
	}
	seen := map[read]bool{}
	var walk func(n *ir.Node, elsewhere bool) bool
	walk = func(n *ir.Node, elsewhere bool) bool {
		elsewhere = elsewhere || !n.Op.IsElementwise() && n.Op != ir.Reshape
		for _, u := range n.Inputs {
			r := read{u, elsewhere}
			if seen[r] {
				continue
			}
			seen[r] = true
			if u == old && elsewhere {
				return false
			}
			if m := s.makers[u]; m != nil && !f.kernel[s.position[u]] && !walk(m, elsewhere) {
				return false
			}
		}
		return true
	}
	return walk(s.makers[v], false)
}
