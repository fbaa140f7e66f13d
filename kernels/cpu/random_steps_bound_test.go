package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// step is a program with values for its inputs. want holds its results in float64. spread says how far from these
// float32 computations are that round each result, with some noise.
type step struct {
	program  *ir.Program
	expanded *ir.Program // but for products
	inputs   []reference.Value
	training bool
	policy   string

	rng    *rand.Rand
	want   []reference.Value
	spread [][]float64
	draws  int
}

// values returns those of a model's variables, perturbed a little, so that nothing is exactly 0 or equal.
func (d *stepDraw) values(m *keras.Model) (map[string][]float64, error) {
	out := map[string][]float64{}
	for _, v := range m.Weights() {
		a, err := v.Value()
		if err != nil {
			return nil, err
		}
		values := a.Float64s()
		for i := range values {
			values[i] += d.NormFloat64() * 0.1
			if strings.HasSuffix(v.Path(), "variance") {
				values[i] = math.Abs(values[i]) + 0.1
			}
		}
		out[v.Path()] = values
	}
	return out, nil
}

// step draws what the program reads: weights by their paths, optimizer states as they are before the first step or
// after some steps, data and labels.
func (d *stepDraw) step(p *ir.Program, weights map[string][]float64, labels string, training bool) *step {
	s := &step{program: p, training: training, policy: d.policy, rng: rand.New(rand.NewPCG(d.Uint64(), 1))}
	first, rate := d.yes(3), of(d.Rand, 0.01, 1, 1) // of 1, plain gradient descent shows the gradients themselves
	for i, in := range p.Inputs {
		t := p.Type(in.Value)
		elements := make([]float64, t.Shape.Size())
		for e := range elements {
			x := d.NormFloat64()
			switch name := in.Name; {
			case weights[name] != nil:
				x = weights[name][e]
			case strings.HasSuffix(name, "learning_rate"):
				x = rate
			case strings.HasSuffix(name, "dynamic_scale"):
				x = of(d.Rand, 1.0, 1024, 1<<15, 1<<20)
			case name == "random_state":
				x = float64(d.IntN(1 << 20))
			case training && i == len(d.inputs):
				x = d.label(labels, x, in.Value, p)
			case i < len(d.inputs) && t.DType == ir.Int32:
				x = float64(d.IntN(10)) * float64(d.IntN(4)/2)
			case i < len(d.inputs):
				if d.yes(40) {
					x = 0
				}
			case !t.DType.IsFloat():
				x = float64(d.IntN(4))
				if first || strings.HasPrefix(name, "seed") {
					x = 0
				}
			case first && strings.HasSuffix(name, "_accumulator"):
				x = 0.1
			case first:
				x = 0
			case strings.HasSuffix(name, "_momentum") || strings.HasSuffix(name, "_m"):
				x *= 0.01
			default:
				x = 0.01 * (0.1 + math.Abs(x))
			}
			elements[e] = x
		}
		v, err := reference.New(t.DType, t.Shape, elements...)
		if err != nil {
			panic(err)
		}
		s.inputs = append(s.inputs, v)
	}
	return s
}

func (d *stepDraw) label(kind string, x float64, v ir.Value, p *ir.Program) float64 {
	switch kind {
	case "class":
		return float64(d.IntN(2))
	case "share":
		return float64(d.IntN(2))
	}
	return x
}

// work estimates the number of multiplications of the program.
func work(p *ir.Program) (n float64) {
	for i := range p.Nodes {
		node := &p.Nodes[i]
		n += float64(p.FLOPs(node)) / 2
		for _, v := range node.Outputs {
			n += float64(p.Type(v).Shape.Size())
		}
		if a, ok := node.Attrs.(ir.ScanAttrs); ok {
			n += float64(a.Length) * work(a.Body)
		}
	}
	return n
}

// expect computes want, and spread from a few draws.
func (s *step) expect(draws int) (err error) {
	if s.want, err = (reference.Interpreter{Excess: s.policy != ""}).Run(s.program, s.inputs); err != nil {
		return err
	}
	s.expanded, err = ir.Expand(s.program, func(_ *ir.Program, n *ir.Node) bool {
		return n.Op.Multiplies() || n.Op == ir.MaxPool || n.Op == ir.MaxPoolGrad || n.Op == ir.Resample || n.Op == ir.Dropout
	})
	if err != nil {
		return err
	}
	for _, v := range s.want {
		s.spread = append(s.spread, make([]float64, v.Type.Shape.Size()))
	}
	return s.draw(draws)
}

// draw computes with rounding and, except for the first time, with noise. It alternates between the program with its
// composites and their decompositions, and records how far the results are from want.
func (s *step) draw(count int) error {
	for range count {
		program, how := s.program, reference.Interpreter{Round: true}
		if s.draws > 0 {
			how.Noise = s.rng
		}
		if s.draws%2 == 1 {
			program = s.expanded
		}
		// Devices that compute mixed precision in float32 do not round between layers. That would hide float32 rounding
		// errors: two gradients that cancel exactly in 16 bits do not in float32.
		how.Excess = s.policy != "" && s.draws%4 >= 2
		s.draws++
		got, err := how.Run(program, s.inputs)
		if err != nil {
			return err
		}
		for i, v := range got {
			for e := range s.spread[i] {
				off := math.Abs(v.At(e) - s.want[i].At(e))
				if math.IsNaN(off) && !(math.IsNaN(v.At(e)) && math.IsNaN(s.want[i].At(e))) {
					off = math.Inf(1)
				}
				s.spread[i][e] = max(s.spread[i][e], off)
			}
		}
	}
	return nil
}

// worst returns the element of the results that is farthest from want, relative to what is allowed: the spread of the
// element or of most elements around it, and the rounding of the result.
func (s *step) worst(got []reference.Value) (ratio float64, where string) {
	for i, v := range got {
		typical := slices.Clone(s.spread[i])
		typical = slices.DeleteFunc(typical, func(x float64) bool { return math.IsInf(x, 1) })
		slices.Sort(typical)
		common := 0.0
		if n := len(typical); n > 0 {
			common = typical[(n-1)*3/4]
		}
		largest := 0.0
		for e := range s.spread[i] {
			largest = max(largest, finiteAbs(s.want[i].At(e)))
		}
		for e := range s.spread[i] {
			g, w := v.At(e), s.want[i].At(e)
			if g == w || math.IsNaN(g) && math.IsNaN(w) {
				continue
			}
			if math.IsInf(s.spread[i][e], 1) { // there are computations with a number here, and with none
				continue
			}
			unit := math.Ldexp(1, 1-v.Type.DType.Digits())
			allowed := max(s.spread[i][e], common) + unit*math.Abs(w) + unit/8*largest + 1e-30
			r := math.Abs(g-w) / allowed
			if math.IsNaN(r) {
				r = math.Inf(1)
			}
			if r > ratio {
				ratio = r
				where = fmt.Sprintf("element %d of output %q %v is %v, in float64 %v; rounding moves it by %.3g, its neighbours by %.3g", e, s.program.Outputs[i].Name, v.Type, g, w, s.spread[i][e], common)
			}
		}
	}
	return ratio, where
}

func finiteAbs(x float64) float64 {
	if x = math.Abs(x); math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	return x
}
