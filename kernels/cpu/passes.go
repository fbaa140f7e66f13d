package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// pipeline holds the passes of this backend.
type pipeline struct {
	normal pass.Pass // simplifies, and leaves only ops that have kernels
	all    pass.Pass // normal, then the passes that make programs faster
	blocks pass.Pass // for programs that only predict
}

// pipelineFor returns the passes for programs with the given number of replicas. testdata/passes shows what each pass
// does to small programs; TestPasses checks it.
func pipelineFor(replicas int) pipeline {
	hasKernel := func(op ir.Op) bool { return builders[op] != nil || op == ir.Barrier } // see improve
	simplify := pass.Simplify(pass.SimplifyOptions{Replicas: replicas, Int8Sums: true, FewProducts: true, Fold: foldScalar})
	normal := []pass.Pass{pass.Decompose(hasKernel, hasHalfKernel), simplify, simplify} // the second round sees what the first uncovered
	if replicas > 1 {
		normal = append(normal, pass.MergeAllReduces())
	}
	l := pipeline{normal: pass.Sequence("normalize", normal...)}
	l.all = pass.Sequence("all", l.normal, scan.Passes(l.normal), pass.CleanUp("updates", l.normal, pass.GateUpdates()), pass.RecomputeCheap(), lateGradients(), softmaxAlongAxes())
	l.blocks = scan.ByExamples(nearExamples*max(poolFor(replicas).Workers(), 1), worthExamples, sameSums, sameImages) // each worker has its own caches
	return l
}

// Variables so that tests can change them.
var nearExamples, worthExamples = scan.NearExamples, scan.WorthExamples

// improve returns the program to compile. Plain programs change as little as the kernels allow. A whole program that
// only predicts may round convolutions differently. Barriers have served their purpose by then and are removed.
func (l pipeline) improve(p *ir.Program, plain, whole bool) (*ir.Program, error) {
	better := l.all
	if plain {
		better = l.normal
	}
	if !plain && whole && withExcess {
		if wide := widens(p); mixes(p) || multiplies(p, wide) {
			var err error
			if p, err = excessPrecision(p, wide).Run(p); err != nil {
				return nil, err
			}
		}
		if !isInference(p) && !onlyHalves(p) {
			var err error
			if p, err = pass.ExcessPrecision(pass.ExcessOptions{Type: ir.DType.IsHalf, Inputs: true, Updates: true}).Run(p); err != nil {
				return nil, err
			}
		}
	}
	if !plain && whole && jit.Usable() {
		var err error
		if p, err = pass.DecomposeHalfUpdates(addsInPlace).Run(p); err != nil {
			return nil, err
		}
	}
	q, err := better.Run(p)
	if err == nil && !plain && whole && isInference(q) {
		q, err = pass.CleanUp("predict", l.normal, pass.PadConvolutions(), pass.FoldScales(), pass.SumFirst()).Run(q)
		if err == nil {
			q, err = l.blocks.Run(q)
		}
	}
	if err != nil {
		return nil, err
	}
	return pass.DropBarriers().Run(q)
}

// addsInPlace reports whether gradients are added to widened variables of a type in place; see
// [pass.DecomposeHalfUpdates]. An instruction that rounds makes formulas faster: 0.87 to 0.94 of the time with four to
// sixteen examples.
func addsInPlace(variable ir.DType) bool {
	return variable != ir.BFloat16 || !isa.Active().Has(isa.AVX512BF16Round)
}

// hasHalfKernel reports whether the node has a kernel that works on half precision as stored.
func hasHalfKernel(p *ir.Program, n *ir.Node) bool {
	switch n.Op {
	case ir.Dot:
		l, r := p.Type(n.Inputs[0]).DType, p.Type(n.Inputs[1]).DType
		return l == r && l == p.Type(n.Outputs[0]).DType && halfOf[l] != nil && !tinyMatrices(p, n)
	case ir.Scatter: // only moves numbers
		return n.Attrs.(ir.ScatterAttrs).Kind == ir.Set
	case ir.OptimizerUpdate:
		return p.Type(n.Inputs[0]).DType == ir.Float32 || len(n.Inputs) == 3+len(n.Outputs)
	case ir.ConvKernelGrad:
		return halfOf[p.Type(n.Inputs[0]).DType] != nil
	}
	return computesByExamples(p, n)
}

// tinyMatrices reports whether a half-precision product consists of many matrices so small that the overhead of each
// exceeds its arithmetic. Converting all of them to float32 at once is then cheaper. The overhead is lower in matrix
// registers, and lower for bfloat16 pairs than for float16, except for the shortest sums.
func tinyMatrices(p *ir.Program, n *ir.Node) bool {
	a, x, y := n.Attrs.(ir.DotAttrs), p.Type(n.Inputs[0]), p.Type(n.Inputs[1])
	entries, few := lengthOf(x.Shape, a.LhsBatch), 2500
	if x.DType == ir.BFloat16 && micro.Pairs() {
		switch sums := lengthOf(x.Shape, a.LhsContract); {
		case isa.Active().Has(isa.AMXBF16):
			few = 128
		case sums > 2:
			few = 1300
		}
	}
	return entries > 1 && x.Shape.Size()+y.Shape.Size()+p.Type(n.Outputs[0]).Shape.Size() < few*entries
}

// lengthOf multiplies the lengths of axes.
func lengthOf(shape ir.Shape, axes []int) int {
	size := 1
	for _, axis := range axes {
		size *= shape[axis]
	}
	return size
}
