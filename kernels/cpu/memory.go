package cpu

import (
	"fmt"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/ir"
)

// checkMemory refuses what cannot be allocated.
func checkMemory(what string, n float64) error { return memory.Check("cpu: "+what, n) }

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
