package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// fusion says which nodes have kernels, and what is computed inside them.
type fusion struct {
	kernel []bool         // by node: it has its own kernel
	anchor []*ir.Node     // by node: the one whose kernel computes this one too, from its results
	checks [][]check      // by node: what to check before it
	last   [][]ir.Value   // by node: values for which its kernel is the last reader
	users  []map[int]bool // by value: the nodes that read it
	read   []int          // by value in memory: the last node whose kernel or checks read it, or -1
	first  []int          // by node: the first one whose kernel or checks read its results, or the number of nodes
	weight []int          // by value: how many nodes are recomputed for each reader if it is inlined
	reach  []int          // by value: how many places in memory a reader reads if it is inlined
	source []int          // by value: the size of these places in bytes
}

// check is a value whose elements can make the run fail: an index outside an axis, or, if length is notFinite, a number
// that is not finite.
type check struct {
	value        ir.Value
	axis, length int
}

const notFinite = -1

// maxWeight limits the number of nodes that one kernel computes for an element.
const maxWeight = 64

// fuse decides what is inlined.
func (s *scope) fuse() *fusion {
	p := s.p
	f := &fusion{
		kernel: make([]bool, len(p.Nodes)), anchor: make([]*ir.Node, len(p.Nodes)), checks: make([][]check, len(p.Nodes)),
		last: make([][]ir.Value, len(p.Nodes)), users: make([]map[int]bool, p.NumValues()), weight: make([]int, p.NumValues()), reach: make([]int, p.NumValues()),
		source: make([]int, p.NumValues()),
	}
	live := p.Live()
	for i := range p.Nodes {
		if !live[i] {
			continue
		}
		for _, v := range p.Nodes[i].Inputs {
			if f.users[v] == nil {
				f.users[v] = map[int]bool{}
			}
			f.users[v][i] = true
		}
		s.findChecks(f, i)
	}
	output := make([]bool, p.NumValues())
	for _, out := range p.Outputs {
		output[out.Value] = true
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !live[i] {
			continue
		}
		v := n.Outputs[0]
		if inlined[n.Op] == nil {
			f.kernel[i] = true
			continue
		}
		f.weight[v] = s.weigh(f, n)
		f.reach[v], f.source[v] = s.reach(f, n)
		f.kernel[i] = output[v] || f.weight[v] > maxWeight || f.reach[v] > maxReach || s.needsMemory(f, v, n)
	}
	for i := range p.Nodes {
		if f.kernel[i] && inlined[p.Nodes[i].Op] != nil {
			s.attach(f, i, output)
		}
	}
	s.lifetimes(f, live)
	return f
}

// findChecks lists the operands of a node that may contain invalid elements.
func (s *scope) findChecks(f *fusion, i int) {
	n := &s.p.Nodes[i]
	if n.Op == ir.SparseSoftmaxCrossEntropy {
		shape := s.p.Type(n.Inputs[0]).Shape
		f.checks[i] = append(f.checks[i], check{n.Inputs[1], len(shape) - 1, shape[len(shape)-1]})
	}
	add := func(where ir.Value, axis int) {
		length := s.p.Type(n.Inputs[0]).Shape[axis]
		f.checks[i] = append(f.checks[i], check{where, axis, length})
	}
	switch a := n.Attrs.(type) {
	case ir.GatherAttrs:
		if a.Mode == ir.IndexError {
			add(n.Inputs[1], a.Axis)
		}
	case ir.ScatterAttrs:
		if a.Mode == ir.IndexError {
			add(n.Inputs[1], a.Axis)
		}
	case ir.CheckFiniteAttrs:
		f.checks[i] = append(f.checks[i], check{n.Inputs[0], 0, notFinite})
	}
}

// isView reports whether an op costs nothing but index arithmetic.
func isView(op ir.Op) bool {
	switch op {
	case ir.Reshape, ir.Transpose, ir.Broadcast, ir.Slice, ir.Reverse, ir.Identity, ir.CheckFinite, ir.Constant, ir.Iota, ir.DynamicSlice:
		return true
	}
	return false
}

// isWidening reports whether a node converts 16-bit floats to wider ones, which takes one instruction.
func isWidening(p *ir.Program, n *ir.Node) bool {
	return n.Op == ir.Convert && p.Type(n.Inputs[0]).DType.IsHalf() && p.Type(n.Outputs[0]).DType.IsFloat()
}

// weigh is the number of nodes that are recomputed wherever the result of n is.
func (s *scope) weigh(f *fusion, n *ir.Node) int {
	w := 1
	switch {
	case isView(n.Op):
		w = 0
	case n.Op == ir.RngBits:
		w = 20
	case isWidening(s.p, n):
		w = 0
	case isPool(n.Op):
		w = poolWeight(s.p, n)
	case !n.Op.Traits().Cheap && n.Op.IsElementwise():
		w = 4
	}
	for _, v := range n.Inputs {
		if m := s.makers[v]; m != nil && inlined[m.Op] != nil && !f.kernel[s.position[v]] {
			w += f.weight[v]
		}
	}
	return w
}

// maxReach limits the places that an inlined value is computed from, and maxOperands the operands that one Concat
// joins: a kernel has a parameter for each place, and at most [maxArgs] parameters.
const (
	maxReach    = 64
	maxOperands = 256
	maxArgs     = 512
)

// reach counts the places in memory from which an element of a node is computed, and their bytes.
func (s *scope) reach(f *fusion, n *ir.Node) (places, bytes int) {
	places = map[ir.Op]int{ir.Constant: 1, ir.Resample: 2, ir.ReplicaID: 1}[n.Op]
	for _, v := range n.Inputs {
		if m := s.makers[v]; m != nil && inlined[m.Op] != nil && !f.kernel[s.position[v]] {
			places, bytes = places+f.reach[v], bytes+f.source[v]
		} else {
			places, bytes = places+1, bytes+s.p.Type(v).Bytes()
		}
	}
	return places, bytes
}

// needsMemory reports whether a value that could be inlined should be computed once and stored.
func (s *scope) needsMemory(f *fusion, v ir.Value, n *ir.Node) bool {
	w := f.weight[v]
	for user := range f.users[v] {
		u := &s.p.Nodes[user]
		switch u.Op {
		case ir.Dot, ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad, ir.Attention, ir.AttentionGrad, ir.Scan, ir.While, ir.Cond, ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.CollectiveBroadcast:
			return true // they read their operands from memory
		case ir.Concat:
			if f.reach[v] > max(1, maxOperands/len(u.Inputs)) {
				return true
			}
		case ir.Sort, ir.TopK, ir.LayerNormGrad:
			if w > 0 {
				return true
			}
		case ir.MaxPool, ir.AvgPool, ir.MaxPoolGrad, ir.AvgPoolGrad:
			if w > 0 && overlaps(u) {
				return true
			}
		case ir.Softmax, ir.SoftmaxGrad, ir.LogSoftmax, ir.LogSoftmaxGrad, ir.SparseSoftmaxCrossEntropy, ir.LayerNorm:
			if shape := s.p.Type(u.Inputs[0]).Shape; w > 0 && shape[len(shape)-1] > 256*keepElements {
				return true // they read each element several times
			}
		case ir.Broadcast, ir.Gather, ir.Resample, ir.Scatter:
			if w > 4 && s.p.Type(u.Outputs[0]).Shape.Size() > s.p.Type(v).Shape.Size() || w > 0 && u.Op != ir.Broadcast && u.Inputs[0] == v {
				return true
			}
		}
	}
	for _, checks := range f.checks {
		for _, c := range checks {
			if c.value == v && w > 4 {
				return true
			}
		}
	}
	if w > 0 && s.isRepeated(f, v) && s.endsKernel(f, n) {
		return true // the kernel whose result it continues computes it once
	}
	if isWidening(s.p, n) {
		return false // the value that it converts is smaller
	}
	// Recomputing it in several kernels pays if they do not read more than if it were in memory.
	again := 1
	if bytes := s.p.Type(v).Bytes(); f.source[v] <= bytes+bytes/8 && !s.endsKernel(f, n) {
		again = 4
	}
	return w > again && s.readers(f, v) > 1
}

// isRepeated reports whether a value is broadcast.
func (s *scope) isRepeated(f *fusion, v ir.Value) bool {
	for user := range f.users[v] {
		u := &s.p.Nodes[user]
		switch to := u.Outputs[0]; {
		case u.Op == ir.Broadcast && s.p.Type(to).Shape.Size() > s.p.Type(v).Shape.Size(), u.Op == ir.Reshape && s.isRepeated(f, to):
			return true
		}
	}
	return false
}

// readers counts the nodes that read a value, directly or through widening conversions.
func (s *scope) readers(f *fusion, v ir.Value) int {
	count := 0
	for user := range f.users[v] {
		if u := &s.p.Nodes[user]; isWidening(s.p, u) {
			count += s.readers(f, u.Outputs[0])
		} else {
			count++
		}
	}
	return count
}

// endsKernel reports whether a chain starts with the result of a kernel that could compute the chain too, and nothing
// else reads that result.
func (s *scope) endsKernel(f *fusion, n *ir.Node) bool {
	for _, v := range n.Inputs {
		m := s.makers[v]
		if m == nil || !n.Op.IsElementwise() {
			continue
		}
		if isAnchor(m.Op) && s.readers(f, v) == 1 || inlined[m.Op] != nil && !f.kernel[s.position[v]] && s.endsKernel(f, m) {
			return true
		}
	}
	return false
}

// isAnchor reports whether the kernel of an op can compute a chain that follows it.
func isAnchor(op ir.Op) bool {
	switch op {
	case ir.Dot, ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad, ir.Reduce:
		return true
	}
	return false
}

// attach finds a node with a kernel that can compute the chain ending in node i: the chain reads the node's result at
// its own index, and nothing else reads it.
func (s *scope) attach(f *fusion, i int, output []bool) {
	n := &s.p.Nodes[i]
	if !n.Op.IsElementwise() || len(f.checks[i]) > 0 {
		return
	}
	size := s.p.Type(n.Outputs[0]).Shape
	members := map[int]bool{i: true} // nodes of the chain that are computed at the same index
	var candidates []*ir.Node
	var walk func(n *ir.Node)
	walk = func(n *ir.Node) {
		for _, v := range n.Inputs {
			m := s.makers[v]
			if m == nil || !s.p.Type(v).Shape.Equal(size) {
				continue
			}
			at := s.position[v]
			if isAnchor(m.Op) {
				if f.kernel[at] && f.anchor[at] == nil && !slices.Contains(candidates, m) {
					candidates = append(candidates, m)
				}
				continue
			}
			if m.Op.IsElementwise() && !f.kernel[at] && !members[at] {
				members[at] = true
				walk(m)
			}
		}
	}
	walk(n)
	// inside reports whether only the chain reads a value, and the chain's intermediate results computed from it.
	var inside func(v ir.Value) bool
	inside = func(v ir.Value) bool {
		if output[v] {
			return false
		}
		for user := range f.users[v] {
			if !members[user] || user != i && !inside(s.p.Nodes[user].Outputs[0]) {
				return false
			}
		}
		return true
	}
	for _, m := range candidates {
		if inside(m.Outputs[0]) {
			f.anchor[i] = m
			f.kernel[s.position[m.Outputs[0]]] = false
			return
		}
	}
}

// lifetimes finds the last kernel that reads each value in memory.
func (s *scope) lifetimes(f *fusion, live []bool) {
	last := make([]int, s.p.NumValues())
	for v := range last {
		last[v] = -1
	}
	f.first = slices.Repeat([]int{len(s.p.Nodes)}, len(s.p.Nodes))
	for i := range s.p.Nodes {
		if !live[i] {
			continue
		}
		n := &s.p.Nodes[i]
		seen := map[ir.Value]bool{}
		var walk func(v ir.Value)
		walk = func(v ir.Value) {
			if seen[v] {
				return
			}
			seen[v] = true
			m := s.makers[v]
			if m == nil {
				last[v] = i
				return
			}
			if at := s.position[v]; f.kernel[at] && at != i {
				last[v], f.first[at] = i, min(f.first[at], i)
				return
			}
			for _, u := range m.Inputs {
				walk(u)
			}
		}
		if f.kernel[i] {
			for _, v := range n.Inputs {
				walk(v)
			}
			for _, v := range n.Outputs {
				last[v] = max(last[v], i) // a result that nothing reads
			}
		}
		for _, c := range f.checks[i] {
			walk(c.value)
		}
	}
	f.read = last
	outputs := map[ir.Value]bool{}
	for _, out := range s.p.Outputs {
		outputs[out.Value] = true
	}
	for v, i := range last {
		if i >= 0 && !outputs[ir.Value(v)] {
			// The last check may belong to a node without a kernel; memory is freed at the next kernel.
			for i < len(f.kernel)-1 && !f.kernel[i] {
				i++
			}
			f.last[i] = append(f.last[i], ir.Value(v))
		}
	}
	for _, l := range f.last {
		slices.Sort(l)
	}
}
