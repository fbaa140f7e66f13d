package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// Passes returns the passes that move work between loops over time and the rest of the program. normal turns a program,
// or the body of a loop, into one whose ops all have kernels.
func Passes(normal pass.Pass) pass.Pass {
	whereLoops := func(name string, run func(p *ir.Program) (*ir.Program, error)) pass.Pass {
		return pass.New(name, func(p *ir.Program) (*ir.Program, error) {
			if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return n.Op == ir.Scan }) {
				return p, nil
			}
			return run(p)
		})
	}
	return pass.Sequence("loops over time",
		pass.CleanUp("bodies", normal,
			whereLoops("sum after scans", sumAfterScans),
			whereLoops("recompute in scans", recomputeInScans),
			whereLoops("pull into scans", func(p *ir.Program) (*ir.Program, error) { return pullIntoScans(p, normal) }),
			whereLoops("transpose before scans", func(p *ir.Program) (*ir.Program, error) { return transposeBeforeScans(p, normal) })),
		whereLoops("align sums", alignSums),
		pass.CleanUp("embeddings", normal, whereLoops("look up by steps", LookUpBySteps)))
}
