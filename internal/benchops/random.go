package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Random calls: what no row covers, of other element types, ranks and axes, with operands that are repeated.

// drawn is a call of a family of functions, for operands of a shape and a type.
type drawn struct {
	names string // separated by spaces
	types string
	args  func(r *rand.Rand, d string, shape []int) []argument
}

const (
	allFloats   = "float32 float32 float64 float16 bfloat16"
	allIntegers = "int32 int64 int8 uint8 int16 uint32"
	allTypes    = allFloats + " " + allIntegers + " bool"
	noBools     = allFloats + " " + allIntegers
)

// families are the functions that are limited by memory, or nearly so.
var families = []drawn{
	{"negative abs sign square", noBools, unaryArguments},
	{"relu floor ceil round sqrt reciprocal isnan isfinite isinf leaky_relu hard_tanh", allFloats, unaryArguments},
	{"relu6 hard_sigmoid hard_silu soft_shrink hard_shrink softsign nan_to_num", allFloats, unaryArguments},
	{"add subtract multiply maximum minimum", noBools, broadcastArguments},
	{"divide", allFloats, broadcastArguments},
	{"equal not_equal less less_equal greater greater_equal", allTypes, broadcastArguments},
	{"logical_and logical_or logical_xor", "bool bool float32 int32 int64", broadcastArguments},
	{"logical_not", "bool bool float32 int32", unaryArguments},
	{"any all count_nonzero", "bool bool float32 int32", axisArguments},
	{"bitwise_and bitwise_or bitwise_xor", allIntegers, broadcastArguments},
	{"bitwise_not", allIntegers, unaryArguments},
	{"where", noBools, whereArguments},
	{"cast", allTypes, castArguments},
	{"transpose", allTypes, permutationArguments},
	{"flip", allTypes, axisArguments},
	{"roll", allTypes, rollArguments},
	{"pad", noBools, padArguments},
	{"slice", allTypes, sliceArguments},
	{"concatenate", allTypes, concatArguments},
	{"stack", allTypes, concatArguments},
	{"repeat", allTypes, repeatArguments},
	{"tile", noBools, tileArguments},
	{"sum max min mean", noBools, axisArguments},
	{"prod", "float32 float64 int32", axisArguments},
	{"argmax argmin", noBools, oneAxisArguments},
	{"diff", "float32 float64 int32", diffArguments},
	{"softmax", "float32", oneAxisArguments},
	{"take", noBools, takeArguments},
	{"take_along_axis", noBools, takeAlongArguments},
	{"broadcast_to", allTypes, broadcastToArguments},
	{"split", noBools, splitArguments},
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// drawnTensor makes an operand. Its numbers suit every function.
func drawnTensor(d string, shape []int) tensor {
	t := tensor{d, shape, -0.95, 0.95}
	switch {
	case d == "bool":
		t.Low, t.High = 0, 2
	case !strings.Contains(d, "float"):
		t.Low, t.High = 0, 100
	}
	return t
}

// drawShape returns about n elements along one to five axes, many of which are short.
func drawShape(r *rand.Rand, n int) []int {
	shape := make([]int, 1+r.IntN(5))
	if r.IntN(50) == 0 { // what a call costs by itself
		n = pick(r, 1, 2, 7, 100)
	}
	size := 1
	for i := range shape {
		shape[i] = pick(r, 1, 2, 3, 3, 4, 5, 7, 8, 10, 16, 17, 32, 33, 50, 64)
		if size*shape[i] > n {
			shape[i] = max(n/size, 1)
		}
		size *= shape[i]
	}
	shape[r.IntN(len(shape))] *= max(n/size, 1)
	return shape
}

// drawCall returns a random call and its name, of any element type, or of that of -dtype where it is not float32.
func drawCall(r *rand.Rand, n int, only *regexp.Regexp) benchmark {
	all := slices.Concat(families, computed, more, otherForms, loops, decompositions)
	for {
		f := pick(r, all...)
		name, d := pick(r, strings.Fields(f.names)...), pick(r, strings.Fields(f.types)...)
		if precision != "float32" {
			d = precision
		}
		if !only.MatchString(name) || !f.takes(d) {
			continue
		}
		dt, _ := ir.ParseDType(d)
		b := benchmark{Function: name, Arguments: f.args(r, d, drawShape(r, 4*n/dt.Size()))}
		b.Name = name + " " + nameOf(b.Arguments)
		return b
	}
}

// takes reports whether a family has operands of a type. Those that have one of 16 bits have both.
func (f *drawn) takes(d string) bool {
	types := strings.Fields(f.types)
	half := slices.Contains(types, "bfloat16") || slices.Contains(types, "float16")
	return slices.Contains(types, d) || strings.HasSuffix(d, "float16") && half
}

// nameOf writes the types and shapes of operands, and other arguments.
func nameOf(arguments []argument) string {
	var words []string
	for _, a := range arguments {
		for _, t := range a.Tensors {
			words = append(words, fmt.Sprint(t.DType, t.Shape))
		}
		if len(a.Tensors) == 0 {
			words = append(words, fmt.Sprint(a.Value))
		}
	}
	return strings.Join(words, " ")
}

func unaryArguments(_ *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s))}
}

// broadcastArguments are two operands, the second of which may have axes of one element.
func broadcastArguments(r *rand.Rand, d string, s []int) []argument {
	other := slices.Clone(s)
	if r.IntN(2) == 0 {
		for i := range other {
			if r.IntN(2) == 0 {
				other[i] = 1
			}
		}
	}
	t := drawnTensor(d, other)
	if t.Low == 0 {
		t.Low = 1
	}
	return []argument{one(drawnTensor(d, s)), one(t)}
}

func whereArguments(r *rand.Rand, d string, s []int) []argument {
	list := broadcastArguments(r, d, s)
	return append([]argument{one(drawnTensor("bool", s))}, list...)
}

func castArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(pick(r, strings.Fields(allTypes)...))}
}

func permutationArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(r.Perm(len(s)))}
}

func oneAxisArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(eitherEnd(r, r.IntN(len(s)), len(s)))}
}

// eitherEnd is one of n axes, which may be counted from the end.
func eitherEnd(r *rand.Rand, axis, n int) int {
	if r.IntN(3) == 0 {
		return axis - n
	}
	return axis
}

// axisArguments are an operand and a few axes.
func axisArguments(r *rand.Rand, d string, s []int) []argument {
	axes := r.Perm(len(s))[:1+r.IntN(len(s))]
	slices.Sort(axes)
	return []argument{one(drawnTensor(d, s)), value(axes)}
}

func rollArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	return []argument{one(drawnTensor(d, s)), value(r.IntN(s[axis])), value(axis)}
}

func padArguments(r *rand.Rand, d string, s []int) []argument {
	widths := make([][]int, len(s))
	for i := range widths {
		widths[i] = []int{r.IntN(3), r.IntN(3)}
		if r.IntN(2) == 0 {
			widths[i] = []int{0, 0}
		}
	}
	return []argument{one(drawnTensor(d, s)), value(widths)}
}

func sliceArguments(r *rand.Rand, d string, s []int) []argument {
	start, size := make([]int, len(s)), slices.Clone(s)
	for i := range s {
		if s[i] > 1 && r.IntN(2) == 0 {
			start[i] = r.IntN(2)
			size[i] = s[i] - 1
		}
	}
	return []argument{one(drawnTensor(d, s)), value(start), value(size)}
}

func concatArguments(r *rand.Rand, d string, s []int) []argument {
	list := make([]tensor, 2+r.IntN(4))
	for i := range list {
		list[i] = drawnTensor(d, s)
	}
	return []argument{{Tensors: list, List: true}, value(eitherEnd(r, r.IntN(len(s)), len(s)))}
}

func repeatArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(2 + r.IntN(3)), value(r.IntN(len(s)))}
}

func tileArguments(r *rand.Rand, d string, s []int) []argument {
	times := make([]int, len(s))
	for i := range times {
		times[i] = pick(r, 1, 1, 2, 3)
	}
	return []argument{one(drawnTensor(d, s)), value(times)}
}

func diffArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(1), value(r.IntN(len(s)))}
}

func takeArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	return []argument{one(drawnTensor(d, s)), one(tensor{"int32", []int{s[axis]}, 0, float64(s[axis])}), value(axis)}
}

func takeAlongArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	return []argument{one(drawnTensor(d, s)), one(tensor{"int32", s, 0, float64(s[axis])}), value(axis)}
}

func broadcastToArguments(r *rand.Rand, d string, s []int) []argument {
	small := slices.Clone(s)
	for i := range small {
		if r.IntN(2) == 0 {
			small[i] = 1
		}
	}
	return []argument{one(drawnTensor(d, small)), value(s)}
}

func splitArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	parts := 2 + r.IntN(3)
	s[axis] = max(s[axis]/parts, 1) * parts
	return []argument{one(drawnTensor(d, s)), value(parts), value(axis)}
}

// compareRandomCalls draws calls and reports how many copies of their bytes each takes, the slowest first.
func compareRandomCalls(seed uint64, count, n, rounds int, gradients bool, only *regexp.Regexp) error {
	r := rand.New(rand.NewPCG(seed, 16))
	type result struct {
		name   string
		copies float64
	}
	var list []result
	for range count {
		b := drawCall(r, n, only)
		copies, err := copiesOf(b, rounds, gradients)
		if err != nil {
			if err != errNoGradient {
				fmt.Printf("%s: %v\n", b.Name, err)
			}
			continue
		}
		list = append(list, result{b.Name, copies})
	}
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(b.copies, a.copies) })
	for _, x := range list {
		fmt.Printf("%8.1f copies  %s\n", x.copies, x.name)
	}
	return nil
}
