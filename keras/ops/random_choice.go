package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomInt returns integers uniformly distributed over low, low+1, ..., high-1, as an integer type: low +
// floor(b·n/2^32) for n = high - low and b uniform in [0, 2^32), so that probabilities differ by less than n/2^32,
// relatively. Behaviour of keras.random.randint; the numbers are those of [RandomBits].
func RandomInt(t Traced, dtype ir.DType, low, high int, seed uint64, shape ...int) *Tensor {
	g := graphFor(t)
	if dtype.IsFloat() || dtype == ir.Bool {
		Failf(g, "random int: needs an integer type, received %v", dtype)
	}
	if n := high - low; n < 1 || n > math.MaxUint32 {
		Failf(g, "random int: the range [%d, %d) must hold between 1 and 2^32-1 numbers", low, high)
	}
	b := Cast(RandomBits(g, seed, shape...), ir.Float64) // exact
	return Cast(AddScalar(Floor(MultiplyScalar(b, float64(high-low)*0x1p-32)), float64(low)), dtype)
}

// Shuffle puts the slices of x along an axis into a random order, that of random keys. All positions along the other
// axes get the same order. The gradient follows the slices. Behaviour of keras.random.shuffle.
func Shuffle(x *Tensor, axis int, seed uint64) *Tensor {
	axis = x.Axis(axis)
	order := Argsort(RandomBits(x, seed, x.Dim(axis)), 0)
	return Take(x, order, axis)
}

// Categorical draws n class numbers for each row of logits (rows, classes), with probabilities softmax(logits). A draw
// is the position of the largest logits - ln(-ln(u)) for u uniform in (0, 1), one u for each class and draw. The result
// is int32 (rows, n). Behaviour of keras.random.categorical. Source: Gumbel, "Statistical Theory of Extreme Values",
// 1954.
func Categorical(logits *Tensor, n int, seed uint64) *Tensor {
	if logits.Rank() != 2 || n < 1 {
		Failf(logits.g, "categorical: needs logits (rows, classes) and at least one draw, received shape %v and %d", logits.Shape(), n)
	}
	rows, classes := logits.Dim(0), logits.Dim(1)
	wide := wider(logits.DType())
	if !logits.DType().IsFloat() {
		wide = ir.Float32
	}
	u := DivideScalar(AddScalar(openInterval(logits.g, wide, seed, []int{rows, n, classes}), 1), 2)
	noise := Negative(Log(Negative(Log(u))))
	return Cast(Argmax(Add(ExpandDims(Cast(logits, wide), 1), noise), -1), ir.Int32)
}
