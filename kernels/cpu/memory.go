package cpu

import (
	"fmt"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/ir"
)

// checkMemory refuses what cannot be allocated.
func checkMemory(what string, n float64) error { return memory.Check("cpu: "+what, n) }

// worthNaming is how much memory a program takes that it is worth knowing what for.
const worthNaming = 1 << 26

// describe names a value by the layer that computes it.
func (g *graph) describe(v ir.Value) string {
	n := g.node(v)
	if n == nil || n.Scope == "" {
		return g.p.Type(v).String()
	}
	return fmt.Sprintf("%v of layer %q", g.p.Type(v), n.Scope)
}

// largest describes the largest value in the arena.
func (p *placement) largest() string {
	at, most := ir.Value(-1), 0
	for v := range p.operands {
		if m := p.operands[v].mem; m != nil && m.kind == inArena && m.bytes > most && p.node(ir.Value(v)) != nil {
			at, most = ir.Value(v), m.bytes
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (its largest value: %s, %.3g bytes)", p.describe(at), float64(most))
}

// checkSizes refuses programs with values whose size cannot be computed with. Larger values than memory are fine where they are never
// stored as a whole.
func checkSizes(p *ir.Program) error {
	for _, n := range p.Nodes {
		for _, v := range n.Outputs {
			if size := p.Type(v).Bytes(); size > memory.Addressable {
				return fmt.Errorf("cpu: %s: the result of %v, %v, takes %.3g bytes of memory, more than a machine can address; use smaller batches or layers", n.Scope, n.Op, p.Type(v), float64(size))
			}
		}
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if err := checkSizes(sub); err != nil {
				return err
			}
		}
	}
	return nil
}
