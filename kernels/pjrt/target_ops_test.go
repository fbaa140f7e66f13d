//go:build linux

package pjrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// families have one op each that stands for others which are written alike.
var families = []ir.Op{
	ir.Erf, ir.Pow, ir.Convert, ir.Select, ir.Concat, ir.DynamicUpdateSlice, ir.Reduce, ir.Cumulative, ir.ArgMax, ir.Sort, ir.TopK, ir.Gather, ir.Scatter, ir.RngBits,
	ir.Dot, ir.Conv, ir.ConvKernelGrad, ir.MaxPoolGrad, ir.AvgPool, ir.Resample, ir.BatchNormGrad, ir.Softmax, ir.SparseSoftmaxCrossEntropy, ir.Attention, ir.EmbeddingGrad,
	ir.LstmCell, ir.RnnScan, ir.Scan, ir.While, ir.Cond, ir.Fourier, ir.Eliminate, ir.OptimizerUpdate,
}

// caseFor is the first case of an op whose types a TPU has.
func caseFor(t *testing.T, op ir.Op) *ir.Program {
	t.Helper()
	for _, c := range kernelstest.Cases() {
		if c.Op == op && suits(c.Program) {
			return c.Program
		}
	}
	return nil
}

func suits(p *ir.Program) bool {
	for _, in := range p.Inputs {
		switch p.Type(in.Value).DType {
		case ir.Float32, ir.Int32, ir.Bool, ir.Uint32:
		default:
			return false
		}
	}
	return true
}

// One program of each family of ops compiles for three kinds of TPU; with -short for one.
func TestTargetFamilies(t *testing.T) {
	path := libtpu(t)
	kinds := []string{"v5e:1x1", "v6e:1x1", "v4:2x2x1"}
	if testing.Short() {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			target, err := pjrt.NewTarget(path, kind)
			require.NoError(t, err)
			defer func() { require.NoError(t, target.Close()) }()
			for _, op := range families {
				p := caseFor(t, op)
				require.NotNil(t, p, "a case of %v", op)
				a, err := target.Compile(p)
				require.NoError(t, err, "%v", op)
				require.Positive(t, a.Code, "%v", op)
			}
		})
	}
}
