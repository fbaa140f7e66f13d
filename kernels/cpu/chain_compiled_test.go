package cpu_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

// edges are numbers at which conversions saturate, round or lose their sign.
func edges() []float64 {
	list := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.5, -0.5, 0.999, -0.999, 1.5, 2.5, -1, -1.5, 1e-40, -1e-40, 3e38, -3e38,
		1e300, -1e300, 2147483520, 2147483583, 9223371487098961920, 16777217, 4503599627370497}
	for _, bits := range []int{7, 8, 15, 16, 31, 32, 53, 63, 64} {
		for _, by := range []float64{-1, -0.5, 0, 0.5, 1} {
			list = append(list, math.Ldexp(1, bits)+by, -math.Ldexp(1, bits)+by)
		}
	}
	return list
}

// TestConversionsKeepTheBits: conversions between all types give the same bits in compiled code and one by one, for
// random bits and for edges.
func TestConversionsKeepTheBits(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			conversionsKeepTheBits(t)
		})
	}
}

func conversionsKeepTheBits(t *testing.T) {
	const n = 1001
	for _, from := range allTypes {
		for _, to := range allTypes {
			g := tape{p: &ir.Program{}}
			x := g.input("x", from, n)
			g.p.AddOutput("y", g.op(ir.Convert, ir.ConvertAttrs{DType: to}, x))
			output := func() []byte {
				s, r := newSession(t, g.p), rand.New(rand.NewPCG(5, 5))
				data := s.inputs[0].Bytes()
				for i := range data {
					if data[i] = byte(r.Uint32()); from == ir.Bool {
						data[i] &= 1
					}
				}
				for i, v := range edges() {
					if from.IsFloat() {
						copy(data[i*from.Size():], ir.AppendElement(nil, from, v))
					}
				}
				s.run(t)
				return unsigned(to, s.outputs[0].Bytes())
			}
			got := output()
			cpu.WithoutCode(func() {
				want := output()
				require.True(t, bytes.Equal(want, got), "%v to %v: %s", from, to, firstDifference(want, got))
			})
		}
	}
}

// TestSignalsInCode: signals of the profiler and the garbage collector may interrupt code that the runtime does not
// know, and execution continues.
func TestSignalsInCode(t *testing.T) {
	g := tape{p: &ir.Program{}}
	x := g.input("x", ir.Float32, 1<<16)
	y := x
	for range 20 {
		y = g.op(ir.Div, nil, g.op(ir.Add, nil, y, x), g.op(ir.Sqrt, nil, x))
	}
	g.p.AddOutput("y", y)
	s := newSession(t, g.p)
	for i := range s.inputs[0].Bytes() {
		s.inputs[0].Bytes()[i] = 0x3f
	}
	var profile bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&profile))
	defer pprof.StopCPUProfile()
	done := make(chan bool)
	go func() {
		for start := time.Now(); time.Since(start) < 150*time.Millisecond; {
			runtime.GC()
		}
		close(done)
	}()
	s.run(t)
	want := bytes.Clone(s.outputs[0].Bytes())
	for running := true; running; {
		s.run(t)
		require.True(t, bytes.Equal(want, s.outputs[0].Bytes()))
		select {
		case <-done:
			running = false
		default:
		}
	}
}
