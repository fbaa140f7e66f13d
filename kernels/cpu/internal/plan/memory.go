package plan

import (
	"fmt"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CheckMemory returns an error for what cannot be allocated.
func CheckMemory(what string, n float64) error { return memory.Check("cpu: "+what, n) }

// WorthNaming is the memory of a program from which on errors name its largest value.
const WorthNaming = 1 << 26

// describe names a value by the layer that computes it.
func (g *Placement) describe(v ir.Value) string {
	n := g.Node(v)
	if n == nil || n.Scope == "" {
		return g.Program.Type(v).String()
	}
	return fmt.Sprintf("%v of layer %q", g.Program.Type(v), n.Scope)
}

// Largest describes the largest value in the arena.
func (p *Placement) Largest() string {
	at, most := ir.Value(-1), 0
	for v := range p.Operands {
		if m := p.Operands[v].Mem; m != nil && m.Kind == InArena && m.Bytes > most && p.Node(ir.Value(v)) != nil {
			at, most = ir.Value(v), m.Bytes
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (its largest value: %s, %.3g bytes)", p.describe(at), float64(most))
}

// CheckSizes refuses programs with values whose size overflows. Values larger than memory are allowed, because they may
// never be stored as a whole.
func CheckSizes(p *ir.Program) error {
	for _, n := range p.Nodes {
		for _, v := range n.Outputs {
			if size := p.Type(v).Bytes(); size > memory.Addressable {
				return fmt.Errorf("cpu: %s: the result of %v, %v, takes %.3g bytes of memory, more than a machine can address; use smaller batches or layers", n.Scope, n.Op, p.Type(v), float64(size))
			}
		}
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if err := CheckSizes(sub); err != nil {
				return err
			}
		}
	}
	return nil
}
