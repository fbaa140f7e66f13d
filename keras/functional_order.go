package keras

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/layers"
)

// visit walks from tensors back to the inputs. Calls are recorded in order, so there are no cycles. The walk uses a
// list instead of recursion, so depth is not limited.
func (f *functional) visit(tensors []*layers.KerasTensor, given map[*layers.KerasTensor]bool, seen map[*layers.Node]bool) error {
	pending := slices.Clone(tensors)
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if given[t] {
			continue
		}
		n, _ := t.Node()
		if n.Layer == nil {
			return fmt.Errorf("the outputs depend on %s, which is not among the model's inputs; list it in keras.Inputs", f.missing(t))
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		f.nodes = append(f.nodes, n)
		pending = append(pending, n.Inputs...)
	}
	return nil
}

// missing describes an input that is not listed: by its name or, without one, by the call that takes it.
func (f *functional) missing(t *layers.KerasTensor) string {
	if t.Name() != "" {
		return fmt.Sprintf("input %q %v", t.Name(), t)
	}
	for _, n := range f.nodes {
		if i := slices.Index(n.Inputs, t); i >= 0 {
			return fmt.Sprintf("the unnamed input %v that is input %d of layer %q", t, i, layers.Name(n.Layer))
		}
	}
	return fmt.Sprintf("the unnamed input %v that is itself an output", t)
}

// sortByDepth orders inputs, layers and calls as Keras's Function does: by distance from the outputs, the farthest
// first. At equal distance, inputs and layers are in the order in which a walk from the outputs meets them, and calls
// in the order in which their distances are computed on the way back. Files name layers by their order; the order of
// calls determines how the state of a layer with several calls changes.
//
// The distance of a layer is the largest of those of its calls visited so far, and calls visited later have at least
// this distance. So for layers with several calls the distances depend on the order of the visits, which must be
// Keras's.
func (f *functional) sortByDepth() {
	depth, layerDepth, inputDepth := map[*layers.Node]int{}, map[layers.Layer]int{}, map[*layers.KerasTensor]int{}
	note := func(n *layers.Node, at int) {
		old, is := depth[n]
		if !is {
			f.run = append(f.run, n)
		}
		depth[n] = max(old, at)
	}
	for _, n := range slices.Backward(f.postorder()) {
		note(n, layerDepth[n.Layer])
		layerDepth[n.Layer] = depth[n]
		for _, t := range n.Inputs {
			if slices.Contains(f.in.list, t) {
				inputDepth[t] = max(inputDepth[t], depth[n]+1)
				continue
			}
			from, _ := t.Node()
			note(from, depth[n]+1)
		}
	}
	slices.SortStableFunc(f.run, func(a, b *layers.Node) int { return depth[b] - depth[a] })
	f.order = f.walk()
	sort.SliceStable(f.order, func(i, j int) bool {
		return f.order[i].depth(layerDepth, inputDepth) > f.order[j].depth(layerDepth, inputDepth)
	})
	for _, e := range f.order {
		if e.layer != nil {
			f.byDepth = append(f.byDepth, e.layer)
		}
	}
}

// postorder lists the calls after those that they depend on, in the order in which a depth-first walk from the outputs
// leaves them.
func (f *functional) postorder() []*layers.Node {
	type visit struct {
		node *layers.Node
		next int // index of the next input to visit
	}
	var order []*layers.Node
	seen := map[*layers.Node]bool{}
	for _, t := range f.out.list {
		var pending []visit
		enter := func(t *layers.KerasTensor) {
			if n, _ := t.Node(); !slices.Contains(f.in.list, t) && !seen[n] {
				seen[n] = true
				pending = append(pending, visit{node: n})
			}
		}
		enter(t)
		for len(pending) > 0 {
			v := &pending[len(pending)-1]
			if v.next < len(v.node.Inputs) {
				v.next++
				enter(v.node.Inputs[v.next-1])
				continue
			}
			order = append(order, v.node)
			pending = pending[:len(pending)-1]
		}
	}
	return order
}

// listed is one entry of a model's list of operations: a layer or an input.
type listed struct {
	layer layers.Layer
	input *layers.KerasTensor
}

func (e listed) depth(layer map[layers.Layer]int, input map[*layers.KerasTensor]int) int {
	if e.layer != nil {
		return layer[e.layer]
	}
	return input[e.input]
}

// walk lists layers and inputs in the order in which a depth-first walk from the outputs first meets them.
func (f *functional) walk() []listed {
	var order []listed
	seen := map[any]bool{}
	pending := slices.Clone(f.out.list)
	slices.Reverse(pending)
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if slices.Contains(f.in.list, t) {
			if !seen[t] {
				seen[t] = true
				order = append(order, listed{input: t})
			}
			continue
		}
		n, _ := t.Node()
		if !seen[n.Layer] {
			seen[n.Layer] = true
			order = append(order, listed{layer: n.Layer})
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range slices.Backward(n.Inputs) {
			pending = append(pending, in)
		}
	}
	var unused []listed // inputs that no output depends on; Keras lists them before the others
	for _, t := range f.in.list {
		if !seen[t] {
			unused = append(unused, listed{input: t})
		}
	}
	return append(unused, order...)
}
