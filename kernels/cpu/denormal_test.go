package cpu_test

import (
	"bytes"
	"math"
	goruntime "runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

func floatsOf(b kernels.Buffer) []float32 {
	data := b.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/4)
}

func isDenormal(x float32) bool { return x != 0 && math.Abs(float64(x)) < 0x1p-126 }

// denormals is a program of all kinds of kernels, and its session with operands around the smallest normal number.
func denormals(t testing.TB) *session {
	const n = 1 << 18 // for several workers
	g := tape{ir.New("denormals")}
	x, y := g.input("x", ir.Float32, n), g.input("y", ir.Float32, n)
	m, v := g.input("m", ir.Float32, n/64, 64), g.input("v", ir.Float32, 64, 32)
	g.p.AddOutput("sum", g.op(ir.Add, nil, x, y))
	g.p.AddOutput("product", g.op(ir.Mul, nil, x, g.like(x, 0.5)))
	g.p.AddOutput("quotient", g.op(ir.Div, nil, x, g.like(x, 3)))
	g.p.AddOutput("chain", g.op(ir.Mul, nil, g.op(ir.Abs, nil, g.op(ir.Neg, nil, g.op(ir.Sub, nil, x, y))), g.like(x, 2)))
	for _, op := range []ir.Op{ir.Exp, ir.Log, ir.Sqrt, ir.Rsqrt, ir.Tanh, ir.Sigmoid, ir.Erf, ir.Gelu, ir.Floor, ir.Expm1, ir.Log1p, ir.Sin} {
		g.p.AddOutput(op.String(), g.op(op, nil, x))
	}
	positive := g.op(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, x, g.like(x, 0))
	g.p.AddOutput("select", g.op(ir.Select, nil, positive, g.op(ir.Add, nil, x, x), g.like(x, -1)))
	g.p.AddOutput("total", g.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x))
	g.p.AddOutput("product of matrices", g.matmul(m, v, false, false))
	s := newSession(t, g.p)
	for i, b := range s.inputs {
		for j, f := 0, floatsOf(b); j < len(f); j++ {
			f[j] = float32(math.Ldexp(1+float64(j%7)/8, -128+j%5)) * float32(1-2*(j/3%2))
			if i == 3 {
				f[j] *= 0x1p-4
			}
		}
	}
	return s
}

func TestDenormalsAreZero(t *testing.T) {
	if !flush.Supported {
		t.Skip("this processor has no mode that flushes denormals")
	}
	before := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			var want []byte
			for _, workers := range []int{1, 2, 4} {
				goruntime.GOMAXPROCS(workers)
				s := denormals(t)
				for range 3 {
					s.run(t)
				}
				for i, b := range s.outputs {
					if s.p.Outputs[i].Name == "tanh" { // which returns small operands as they are
						continue
					}
					if at := slices.IndexFunc(floatsOf(b), isDenormal); at >= 0 {
						t.Errorf("output %q has %g at %d", s.p.Outputs[i].Name, floatsOf(b)[at], at)
					}
				}
				got := snapshot(s)
				s.e.Close()
				if want == nil {
					want = got
				}
				require.True(t, bytes.Equal(want, got), "%d workers give other bits", workers)
				require.Equal(t, flush.Default, flush.Current(), "the mode leaked")
			}
		})
	}
}

// deadUnits is a training step with Adam in which nothing has a gradient: the moments decay.
func deadUnits(t testing.TB, n int) *session {
	trainer := newTrainer("dead", "adam")
	w := trainer.variable("w", n)
	trainer.update(trainer.op(ir.Mul, nil, w, trainer.like(w, 0)))
	s := newSession(t, trainer.p)
	for i, in := range trainer.p.Inputs {
		for j, f := 0, floatsOf(s.inputs[i]); j < len(f) && in.Name == "w/slot"; j++ {
			f[j] = 1e-3
		}
	}
	return s
}

func TestMomentsOfDeadUnitsEnd(t *testing.T) {
	if !flush.Supported {
		t.Skip("this processor has no mode that flushes denormals")
	}
	s := deadUnits(t, 37)
	defer s.e.Close()
	for range 90_000 { // 0.999 to the power 87,000 is 2^-126
		s.run(t)
	}
	for i, in := range s.p.Inputs {
		if in.Name == "w/slot" {
			for _, x := range floatsOf(s.inputs[i]) {
				require.False(t, isDenormal(x), "a moment is %g", x)
			}
		}
	}
}

// BenchmarkDeadUnits trains for 100,000 steps. It reports how much longer the last tenth took than the first.
func BenchmarkDeadUnits(b *testing.B) {
	for b.Loop() {
		s := deadUnits(b, 4096)
		var tenths [10]time.Duration
		for i := range tenths {
			begin := time.Now()
			for range 10_000 {
				s.run(b)
			}
			tenths[i] = time.Since(begin)
		}
		s.e.Close()
		b.ReportMetric(float64(tenths[9])/float64(tenths[0]), "last/first")
		b.ReportMetric(float64(slices.Max(tenths[:]))/float64(slices.Min(tenths[:])), "slowest/fastest")
	}
}

// BenchmarkDenormals multiplies and adds matrices of denormals beside the same with normal numbers.
func BenchmarkDenormals(b *testing.B) {
	g := tape{ir.New("layer")}
	x, w, bias := g.input("x", ir.Float32, 256, 512), g.input("w", ir.Float32, 512, 512), g.input("b", ir.Float32, 512)
	g.p.AddOutput("y", g.op(ir.Sigmoid, nil, g.bias(g.matmul(x, w, false, false), bias)))
	s := newSession(b, g.p)
	defer s.e.Close()
	best := map[bool]time.Duration{}
	for b.Loop() {
		for _, denormal := range []bool{false, true} {
			for _, in := range s.inputs {
				for i, f := 0, floatsOf(in); i < len(f); i++ {
					f[i] = float32(i%17-8) / 64
					if denormal {
						f[i] *= 0x1p-130
					}
				}
			}
			s.run(b)
			for range 10 {
				begin := time.Now()
				s.run(b)
				if took := time.Since(begin); best[denormal] == 0 || took < best[denormal] {
					best[denormal] = took
				}
			}
		}
	}
	b.ReportMetric(float64(best[true])/float64(best[false]), "denormal/normal")
}
