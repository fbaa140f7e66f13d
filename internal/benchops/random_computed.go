package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Random calls of functions whose computation costs more than their memory, or that move elements by index.

const someFloats = "float32 float32 float64 float16 bfloat16"

// computed are their families.
var computed = []drawn{
	{"exp expm1 exp2 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh", someFloats, unaryArguments},
	{"erf sigmoid silu gelu softplus elu selu celu log_sigmoid tanh_shrink sinc", someFloats, unaryArguments},
	{"log log2 log10 log1p rsqrt cbrt", someFloats, positiveArguments},
	{"floor_divide mod", noBools, broadcastArguments},
	{"power arctan2 logaddexp hypot", someFloats, positivePair},
	{"gcd lcm left_shift right_shift", "int32 int64 int8 int16", broadcastArguments},
	{"cumsum cumprod", noBools, oneAxisArguments},
	{"sort argsort", noBools, oneAxisArguments},
	{"top_k", noBools, topArguments},
	{"argpartition", noBools, partitionArguments},
	{"logsumexp var std", someFloats, axisArguments},
	{"log_softmax softmax", someFloats, oneAxisArguments},
	{"normalize", "float32 float64", normalizeArguments},
	{"norm", "float32 float64", normArguments},
	{"median", "float32 float64", oneAxisArguments},
	{"quantile", "float32", quantileArguments},
	{"one_hot", "int32 int64 uint8", oneHotArguments},
	{"matmul", "float32 float32 float64 bfloat16 int32", matmulArguments},
	{"einsum", "float32 float32 float64", einsumArguments},
	{"outer", noBools, outerArguments},
	{"tril triu", noBools, matrixArguments},
	{"diagonal trace", noBools, matrixArguments},
	{"segment_sum segment_max segment_min", "float32 float32 float64 int32 bfloat16", segmentArguments},
	{"searchsorted", "float32 float64 int32 int64 int16 uint8", searchArguments},
	{"digitize", "float32 float64", digitizeArguments},
	{"scatter_update", "float32 float32 float64 int32 bfloat16", scatterArguments},
	{"slice_update", noBools, sliceUpdateArguments},
	{"swapaxes moveaxis", allTypes, twoAxesArguments},
	{"rot90", noBools, matrixArguments},
	{"clip", noBools, clipArguments},
	{"isclose", someFloats, sameArguments},
	{"cross", "float32 float64", crossArguments},
	{"average nansum nanmax nanmean ptp", someFloats, oneAxisArguments},
}

func positiveTensor(d string, shape []int) tensor {
	t := drawnTensor(d, shape)
	t.Low = 0.05
	return t
}

func positiveArguments(_ *rand.Rand, d string, s []int) []argument {
	return []argument{one(positiveTensor(d, s))}
}

// positivePair are the operands of broadcastArguments, above 0.
func positivePair(r *rand.Rand, d string, s []int) []argument {
	list := broadcastArguments(r, d, s)
	for i := range list {
		list[i].Tensors[0].Low = 0.05
	}
	return list
}

func sameArguments(_ *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), one(drawnTensor(d, s))}
}

func clipArguments(_ *rand.Rand, d string, s []int) []argument {
	t := drawnTensor(d, s)
	if t.Low == 0 {
		return []argument{one(t), value(20), value(60)}
	}
	return []argument{one(t), value(-0.25), value(0.5)}
}

// topArguments ask for a few of the largest along the last axis.
func topArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(1 + r.IntN(min(s[len(s)-1], 20)))}
}

func partitionArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(r.IntN(s[len(s)-1]))}
}

func normalizeArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(r.IntN(len(s)))}
}

func normArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(pick[any](r, 1, 2, nil)), value(r.IntN(len(s)))}
}

func quantileArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(0.3), value(r.IntN(len(s)))}
}

func oneHotArguments(r *rand.Rand, d string, s []int) []argument {
	classes := pick(r, 2, 3, 10, 17, 64, 100)
	s[0] = max(s[0]/classes, 1)
	return []argument{one(tensor{d, s, 0, float64(classes)}), value(classes)}
}

func matmulArguments(r *rand.Rand, d string, s []int) []argument {
	for len(s) < 2 {
		s = append(s, 1)
	}
	other := []int{s[len(s)-1], pick(r, 1, 2, 3, 5, 8, 16, 17, 33, 64)}
	if r.IntN(2) == 0 {
		other = append(slices.Clone(s[:len(s)-2]), other...)
	}
	return []argument{one(drawnTensor(d, s)), one(drawnTensor(d, other))}
}

// einsumArguments are products of which some axes are summed, with the letters of the operands in any order.
func einsumArguments(r *rand.Rand, d string, s []int) []argument {
	letters := []rune("abcde")[:len(s)]
	first := slices.Clone(letters)
	r.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
	var second, result []rune
	shape, other := make([]int, len(s)), []int{}
	for i, l := range first {
		shape[i] = s[l-'a']
	}
	for _, l := range letters {
		in := r.IntN(2) == 0
		if in {
			second, other = append(second, l), append(other, s[l-'a'])
		}
		if !in || r.IntN(2) == 0 {
			result = append(result, l)
		}
	}
	if n := pick(r, 0, 3, 8, 20); n > 0 && len(second) > 0 {
		second, other, result = append(second, 'z'), append(other, n), append(result, 'z')
	}
	subscripts := fmt.Sprintf("%s,%s->%s", string(first), string(second), string(result))
	return []argument{value(subscripts), one(drawnTensor(d, shape)), one(drawnTensor(d, other))}
}

func outerArguments(r *rand.Rand, d string, s []int) []argument {
	n := elements(s)
	a := pick(r, 1, 3, 10, 64, 250)
	return []argument{one(drawnTensor(d, []int{a})), one(drawnTensor(d, []int{max(n/a, 1)}))}
}

// matrixArguments are matrices, of which there may be many.
func matrixArguments(_ *rand.Rand, d string, s []int) []argument {
	for len(s) < 2 {
		s = append([]int{1}, s...)
	}
	return []argument{one(drawnTensor(d, s))}
}

func segmentArguments(r *rand.Rand, d string, s []int) []argument {
	n := pick(r, 1, 5, 64, 300)
	return []argument{one(drawnTensor(d, s)), one(tensor{"int32", []int{s[0]}, 0, float64(n)}), value(n)}
}

// searchArguments are numbers to search among, few or many, of integers one again and again, and what is sought.
func searchArguments(r *rand.Rand, d string, s []int) []argument {
	sorted := drawnTensor(d, []int{pick(r, 10, 100, 1000, 1000, 20000)})
	sorted.Low, sorted.High = 0, 1
	n := elements(s)
	return []argument{one(sorted), one(drawnTensor(d, []int{n}))}
}

func digitizeArguments(_ *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value([]float64{-0.5, 0.2, 0.4, 0.6, 0.8})}
}

func scatterArguments(r *rand.Rand, d string, s []int) []argument {
	n := pick(r, 1, 10, s[0])
	return []argument{one(drawnTensor(d, s)), one(tensor{"int32", []int{n, 1}, 0, float64(s[0])}), one(drawnTensor(d, append([]int{n}, s[1:]...)))}
}

func sliceUpdateArguments(r *rand.Rand, d string, s []int) []argument {
	list := sliceArguments(r, d, s)
	return []argument{list[0], list[1], one(drawnTensor(d, list[2].Value.([]int)))}
}

func twoAxesArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), value(r.IntN(len(s))), value(r.IntN(len(s)))}
}

func crossArguments(_ *rand.Rand, d string, s []int) []argument {
	s = append([]int{max(s[0]/3, 1)}, append(slices.Clone(s[1:]), 3)...)
	return []argument{one(drawnTensor(d, s)), one(drawnTensor(d, s))}
}
