package cpu

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

var updatePasses = flag.Bool("update-passes", false, "write testdata/passes")

// TestPasses shows what each pass does to small programs. If a change is intended: go test ./kernels/cpu -run
// TestPasses -update-passes, and look at the difference.
func TestPasses(t *testing.T) {
	programs := map[string]struct {
		replicas int
		make     func(t *testing.T) *ir.Program
	}{
		"simplify":       {1, simplifiedProgram},
		"half_precision": {1, halfProgram},
		"all_reduces":    {2, reducedProgram},
		"recurrence":     {1, func(t *testing.T) *ir.Program { return recurrence(t, 5, 3, 17, false) }},
		"lstm": {1, func(t *testing.T) *ir.Program {
			return lstmLayer(t, layerSizes{steps: 6, batch: 16, features: 5, units: 8})
		}},
	}
	for name, c := range programs {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			require.NoError(t, p.Verify())
			var text strings.Builder
			before := p.String()
			fmt.Fprintf(&text, "For %d replicas.\n\n%s", c.replicas, before)
			_, err := pass.Run(p, func(name string, q *ir.Program) {
				require.NoError(t, q.Verify(), name)
				after := q.String()
				if after == before {
					fmt.Fprintf(&text, "\n%s: the same\n", name)
				} else {
					fmt.Fprintf(&text, "\n%s:\n%s", name, after)
				}
				before = after
			}, pipelineFor(c.replicas).all)
			require.NoError(t, err)
			file := filepath.Join("testdata", "passes", name+".txt")
			if *updatePasses {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())
		})
	}
}

type passProgram struct {
	t *testing.T
	p *ir.Program
}

func (b passProgram) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	b.t.Helper()
	out, err := b.p.Add("layer", op, attrs, in...)
	require.NoError(b.t, err)
	return out[0]
}

func (b passProgram) splat(d ir.DType, v float64, shape ...int) ir.Value {
	return b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, v, shape...)})
}

// simplifiedProgram has dead nodes, duplicate nodes, nodes that do nothing, and constants to fold.
func simplifiedProgram(t *testing.T) *ir.Program {
	b := passProgram{t, ir.New("simplify")}
	x := b.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 6}})
	b.add(ir.Exp, nil, x) // dead
	one := b.splat(ir.Float32, 1, 4, 6)
	two := b.add(ir.Add, nil, one, one)
	y := b.add(ir.Mul, nil, b.add(ir.Mul, nil, x, one), two)
	there := b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, y)
	back := b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, there)
	z := b.add(ir.Add, nil, b.add(ir.Tanh, nil, back), b.add(ir.Tanh, nil, y)) // twice the same
	b.p.AddOutput("z", b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{24}}, b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{2, 12}}, z)))
	return b.p
}

// halfProgram computes in half precision, with a composite.
func halfProgram(t *testing.T) *ir.Program {
	b := passProgram{t, ir.New("half")}
	x := b.p.AddInput("x", ir.Type{DType: ir.Float16, Shape: ir.Shape{4, 6}})
	w := b.p.AddInput("w", ir.Type{DType: ir.Float16, Shape: ir.Shape{6, 3}})
	y := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
	b.p.AddOutput("y", b.add(ir.Softmax, nil, y))
	return b.p
}

// reducedProgram sums two gradients over the replicas.
func reducedProgram(t *testing.T) *ir.Program {
	b := passProgram{t, ir.New("reduced")}
	for i, name := range []string{"a", "b"} {
		x := b.p.AddInput(name, ir.Type{DType: ir.Float32, Shape: ir.Shape{3 + i}})
		b.p.AddOutput(name, b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 1}, b.add(ir.Neg, nil, x)))
	}
	return b.p
}
