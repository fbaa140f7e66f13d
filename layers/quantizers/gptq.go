package quantizers

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/gokeras/gokeras/kernels"
)

// gptqBlock is the number of inputs that are quantized before their errors are passed on to the other inputs.
const gptqBlock = 128

// Quantize quantizes a matrix w (inputs, outputs). s holds the statistics of the inputs.
func (c *GPTQConfig) Quantize(w kernels.Array, s Statistics) (Calibrated, error) {
	if err := c.Check(); err != nil {
		return Calibrated{}, err
	}
	features := int(math.Sqrt(float64(len(s.Products))))
	if features*features != len(s.Products) {
		return Calibrated{}, fmt.Errorf("quantizers: GPTQ: Products has %d numbers, which are no square matrix", len(s.Products))
	}
	outputs, err := outputsOf("GPTQ", w, s.Rows, features)
	if err != nil {
		return Calibrated{}, err
	}
	g := &gptq{config: c, bits: or(c.WeightBits, 4), size: or(c.GroupSize, 128), inputs: features, round: precise(w.Type.DType), outputs: outputs}
	if g.size == -1 || g.size > features {
		g.size = features
	}
	diagonal, err := g.invert(s)
	if err != nil {
		return Calibrated{}, err
	}
	if c.ActivationOrder {
		g.reorder(diagonal)
	}
	g.quantize()
	group, size := make([]float64, features), or(c.GroupSize, 128)
	if size == -1 {
		size = features
	}
	for i := range group {
		group[g.at(i)] = float64(i) / float64(size) // integers count; fractions are in Keras's files too
	}
	return calibrated(w.Type.DType, g.numbers, g.grids, group)
}

// gptq quantizes one matrix.
type gptq struct {
	config     *GPTQConfig
	bits, size int // size of groups
	inputs     int
	round      func(float64) float64
	outputs    [][]float64 // weights that are left, with the errors of those before made up for: [output][input]
	order      []int       // the inputs in the order in which they are quantized; nil: as they are
	inverse    blas64.General
	numbers    [][]float64 // [output][input], the inputs in their own order
	grids      [][]grid    // [output][group]
}

// at returns the input that is quantized i-th.
func (g *gptq) at(i int) int {
	if g.order == nil {
		return i
	}
	return g.order[i]
}

// invert computes the inverse of the Hessian 2/n·x·xᵀ with a damped diagonal, and returns the diagonal.
func (g *gptq) invert(s Statistics) ([]float64, error) {
	n := g.inputs
	h := make([]float64, n*n) // the upper triangle
	diagonal, mean := make([]float64, n), 0.0
	for i := range n {
		for j := i; j < n; j++ {
			h[i*n+j] = (s.Products[i*n+j] + s.Products[j*n+i]) / float64(s.Rows)
		}
		if diagonal[i] = h[i*n+i]; diagonal[i] == 0 {
			diagonal[i] = 1 // an input that is always zero
		}
		mean += diagonal[i] / float64(n)
	}
	for i := range n {
		diagonal[i] += g.config.damping() * mean
		h[i*n+i] = diagonal[i]
	}
	if err := g.invertHessian(h); err != nil {
		return nil, fmt.Errorf("quantizers: GPTQ: %w (%d rows of %d features); give more of them, or set HessianDamping above %v", err, s.Rows, n, g.config.damping())
	}
	return diagonal, nil
}

// worstCondition is the condition number above which an inverse is noise.
const worstCondition = 1e16

// invertHessian computes the inverse by Cholesky factorization, in place in the upper triangle h.
func (g *gptq) invertHessian(h []float64) error {
	n := g.inputs
	symmetric := blas64.Symmetric{Uplo: blas.Upper, N: n, Data: h, Stride: n}
	norm := lapack64.Lansy(lapack.MaxColumnSum, symmetric, make([]float64, n))
	factor, ok := lapack64.Potrf(symmetric)
	if !ok {
		return fmt.Errorf("the inputs of the calibration depend on one another too much, or are not finite")
	}
	if c := 1 / lapack64.Pocon(symmetric, norm, make([]float64, 3*n), make([]int, n)); !(c <= worstCondition) {
		return fmt.Errorf("the Hessian cannot be inverted, its condition is %.3g", c)
	}
	if _, ok := lapack64.Potri(factor); !ok {
		return fmt.Errorf("the Hessian cannot be inverted")
	}
	for i := range n {
		for j := range i {
			h[i*n+j] = h[j*n+i]
		}
	}
	g.inverse = blas64.General{Rows: n, Cols: n, Stride: n, Data: h}
	return nil
}

// reorder puts inputs with large activations first.
func (g *gptq) reorder(diagonal []float64) {
	n := g.inputs
	g.order = make([]int, n)
	for i := range g.order {
		g.order[i] = i
	}
	slices.SortStableFunc(g.order, func(a, b int) int { return cmp.Compare(diagonal[b], diagonal[a]) })
	moved := make([]float64, n*n)
	for i := range n {
		for j := range n {
			moved[i*n+j] = g.inverse.Data[g.order[i]*n+g.order[j]]
		}
	}
	g.inverse.Data = moved
	for j, row := range g.outputs {
		g.outputs[j] = make([]float64, n)
		for i := range n {
			g.outputs[j][i] = row[g.order[i]]
		}
	}
}

// quantize goes through the inputs in blocks. Within a block, outputs are independent.
func (g *gptq) quantize() {
	groups := (g.inputs + g.size - 1) / g.size
	g.numbers, g.grids = make([][]float64, len(g.outputs)), make([][]grid, len(g.outputs))
	for j := range g.outputs {
		g.numbers[j], g.grids[j] = make([]float64, g.inputs), make([]grid, groups)
	}
	errors := make([]float64, len(g.outputs)*gptqBlock)
	for low := 0; low < g.inputs; low += gptqBlock {
		high := min(low+gptqBlock, g.inputs)
		for i := low; i < high; i++ {
			if i%g.size == 0 {
				g.findGrids(i / g.size)
			}
		}
		eachOf(len(g.outputs), func(from, to int) { g.block(low, high, from, to, errors) })
		if high == g.inputs {
			break
		}
		e := blas64.General{Rows: len(g.outputs), Cols: high - low, Stride: gptqBlock, Data: errors}
		change := blas64.General{Rows: len(g.outputs), Cols: g.inputs - high, Stride: g.inputs - high, Data: make([]float64, len(g.outputs)*(g.inputs-high))}
		part := blas64.General{Rows: high - low, Cols: g.inputs - high, Stride: g.inputs, Data: g.inverse.Data[low*g.inputs+high:]}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, e, part, 0, change)
		for j, row := range g.outputs {
			for i := high; i < g.inputs; i++ {
				row[i] = g.round(row[i] - change.Data[j*change.Stride+i-high])
			}
		}
	}
}

// findGrids finds the grids of one group in all outputs.
func (g *gptq) findGrids(group int) {
	low, high := group*g.size, min((group+1)*g.size, g.inputs)
	least, greatest := math.Inf(1), math.Inf(-1)
	if g.config.PerTensor {
		for _, row := range g.outputs {
			a, b := extremes(row[low:high])
			least, greatest = min(least, a), max(greatest, b)
		}
	}
	for j, row := range g.outputs {
		if !g.config.PerTensor {
			least, greatest = extremes(row[low:high])
		}
		g.grids[j][group] = gridOf(least, greatest, g.bits, g.config.Symmetric, g.round)
	}
}

// block quantizes the inputs of one block in some outputs, and writes the errors.
func (g *gptq) block(low, high, from, to int, errors []float64) {
	left := make([]float64, high-low)
	for j := from; j < to; j++ {
		copy(left, g.outputs[j][low:high])
		for i := range left {
			in := g.grids[j][(low+i)/g.size]
			q := in.number(left[i], g.round)
			g.numbers[j][g.at(low+i)] = q
			row := g.inverse.Data[(low+i)*g.inputs+low:][:high-low]
			e := g.round((left[i] - in.value(q, g.round)) / row[i])
			errors[j*gptqBlock+i] = e
			for k := i + 1; k < len(left); k++ {
				left[k] = g.round(left[k] - e*row[k])
			}
		}
	}
}

// eachOf distributes n items over the processors.
func eachOf(n int, f func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n)
	var wait sync.WaitGroup
	for p := range parts {
		wait.Go(func() { f(p*n/parts, (p+1)*n/parts) })
	}
	wait.Wait()
}
