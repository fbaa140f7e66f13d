package kernelstest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Case is one program with inputs; its expected outputs are those of package reference.
type Case struct {
	// Name is op/variant.
	Name    string
	Op      ir.Op
	Program *ir.Program
	Inputs  []reference.Value
	// Units is the allowed error of floating point results, in units of the type's precision (2^-10, 2^-7, 2^-23,
	// 2^-52) times the expected number; 0 asks for equality.
	Units float64
	// Whole measures errors against the largest number of the result instead (and at least 1), for sums of terms that
	// may cancel.
	Whole bool
}

// Cases returns the single-op cases: every op, over the element types and shapes that suit it.
var Cases = sync.OnceValue(func() []Case {
	s := &suite{}
	for _, family := range []func(*suite){
		sourceCases, unaryCases, binaryCases, logicCases, convertCases,
		shapeCases, dynamicCases, dotCases, indexCases, reduceCases, orderCases,
		convCases, poolCases, normCases, groupNormCases, lstmCases, gruCases, softmaxCases, dropoutCases, attentionCases, resampleCases, packedDotCases, packedEmbeddingCases, eliminateCases, factorCases, fourierCases, embeddingCases, rnnCases, optimizerCases,
		scanCases, whileCases, condCases, wholeCases, sweepCases,
	} {
		family(s)
	}
	return s.cases
})

type suite struct{ cases []Case }

// Selected returns the cases that Run takes: all of them, or, with go test's flag -short, for each op a larger one of
// float32 (or of the type that it has), and one in thirty of the others.
func Selected() []Case {
	all := Cases()
	if !testing.Short() {
		return all
	}
	best := map[ir.Op]int{}
	for i, c := range all {
		if b, ok := best[c.Op]; !ok || better(c, all[b]) {
			best[c.Op] = i
		}
	}
	var out []Case
	for i, c := range all {
		if i%30 == 0 || best[c.Op] == i {
			out = append(out, c)
		}
	}
	return out
}

// better reports whether a case tests its op better than another: on floats, on more numbers.
func better(c, than Case) bool {
	if f, g := floats32(c), floats32(than); f != g {
		return f
	}
	return elements(c) > elements(than) && elements(c) < 1<<12
}

func floats32(c Case) bool { return len(c.Inputs) > 0 && c.Inputs[0].Type.DType == ir.Float32 }

func elements(c Case) (n int) {
	for _, v := range c.Inputs {
		n += v.Type.Shape.Size()
	}
	return n
}

// draft is a case under construction: a source of numbers that depends only on its name.
type draft struct {
	suite *suite
	Case
	rng *rand.Rand
}

func (s *suite) new(op ir.Op, format string, args ...any) *draft {
	name := op.String() + "/" + fmt.Sprintf(format, args...)
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return &draft{s, Case{Name: name, Op: op}, rand.New(rand.NewPCG(hash.Sum64(), 1))}
}

// add completes the case with a program of the one op.
func (d *draft) add(attrs ir.Attrs, inputs ...reference.Value) {
	p := ir.New(d.Name)
	operands := make([]ir.Value, len(inputs))
	for i, v := range inputs {
		operands[i] = p.AddInput(fmt.Sprintf("in%d", i), v.Type)
	}
	results, err := p.Add("layer", d.Op, attrs, operands...)
	if err != nil {
		panic(fmt.Sprintf("kernelstest: case %s: %v", d.Name, err))
	}
	for i, v := range results {
		p.AddOutput(fmt.Sprintf("out%d", i), v)
	}
	d.Program, d.Inputs = p, inputs
	d.suite.cases = append(d.suite.cases, d.Case)
}

// within sets the tolerance.
func (d *draft) within(units float64) *draft {
	d.Units = units
	return d
}

// withinWhole sets a tolerance that is measured against the largest result.
func (d *draft) withinWhole(units float64) *draft {
	d.Units, d.Whole = units, true
	return d
}

// value returns a tensor whose elements are f(row-major number), converted to the element type.
func value(dtype ir.DType, shape ir.Shape, f func(i int) float64) reference.Value {
	elements := make([]float64, shape.Size())
	for i := range elements {
		elements[i] = f(i)
	}
	v, err := reference.New(dtype, shape, elements...)
	if err != nil {
		panic("kernelstest: " + err.Error())
	}
	return v
}

// normal returns normally distributed floats, or integers of a small range that suits the type.
func (d *draft) normal(dtype ir.DType, shape ...int) reference.Value {
	return value(dtype, shape, func(int) float64 {
		switch {
		case dtype == ir.Bool:
			return float64(d.rng.IntN(2))
		case dtype.IsFloat():
			return d.rng.NormFloat64()
		case dtype.IsSigned():
			return float64(d.rng.IntN(23) - 11)
		}
		return float64(d.rng.IntN(23))
	})
}

// positive returns floats in [0.5, 2).
func (d *draft) positive(dtype ir.DType, shape ...int) reference.Value {
	return value(dtype, shape, func(int) float64 { return 0.5 + 1.5*d.rng.Float64() })
}

// below returns integers in [0, n).
func (d *draft) below(dtype ir.DType, n int, shape ...int) reference.Value {
	return value(dtype, shape, func(int) float64 { return float64(d.rng.IntN(n)) })
}

// extremes returns random elements of the whole range of an integer type, its ends and small numbers among them.
func (d *draft) extremes(dtype ir.DType, shape ...int) reference.Value {
	data := make([]byte, 0, shape0(shape).Size()*dtype.Size())
	for i := range shape0(shape).Size() {
		switch {
		case i%5 == 3:
			data = ir.AppendElement(data, dtype, []float64{math.Inf(1), math.Inf(-1), 0, 1, -1}[d.rng.IntN(5)])
		case i%5 == 4:
			data = ir.AppendElement(data, dtype, float64(d.rng.IntN(9)-4))
		default:
			for range dtype.Size() {
				data = append(data, byte(d.rng.Uint32()))
			}
		}
	}
	v, err := reference.FromBytes(ir.Type{DType: dtype, Shape: shape}, data)
	if err != nil {
		panic("kernelstest: " + err.Error())
	}
	return v
}

func shape0(s []int) ir.Shape { return s }

// specials puts NaN, infinities, zeros of both signs, very large and very small numbers into every third element.
func (d *draft) specials(v reference.Value) reference.Value {
	numbers := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 1e4, -1e4, 6e-5, 0.5, -0.5, 2.5, 1.5}
	w := v.Clone()
	for i := 0; i < len(w.F); i += 3 {
		w.F[i] = ir.RoundFloat(v.Type.DType, numbers[i/3%len(numbers)])
	}
	return w
}

var (
	floats   = slices.DeleteFunc(ir.DTypes(), func(d ir.DType) bool { return !d.IsFloat() })
	integers = slices.DeleteFunc(ir.DTypes(), func(d ir.DType) bool { return !d.IsInteger() })
	numbers  = append(append([]ir.DType{}, floats...), integers...)
	all      = append(append([]ir.DType{}, numbers...), ir.Bool)
	wide     = []ir.DType{ir.Float32, ir.Float64}
	some     = []ir.DType{ir.Float32, ir.BFloat16, ir.Int64, ir.Uint8, ir.Bool}
)

// Covered returns the ops that are the subject of a case.
func Covered() map[ir.Op]bool {
	covered := map[ir.Op]bool{}
	for _, c := range Cases() {
		covered[c.Op] = true
	}
	for _, c := range replicaCases() {
		p := newProgram(c.name)
		c.build(p, (&suite{}).new(ir.AllReduce, "coverage"), 2)
		for _, n := range p.Nodes {
			covered[n.Op] = covered[n.Op] || n.Op >= ir.AllReduce
		}
	}
	return covered
}
