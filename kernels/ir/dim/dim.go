package dim

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

const (
	// Largest is the largest constant length: no memory holds an axis that is longer.
	Largest = 1 << (bits.UintSize - 4 - 12*(bits.UintSize/64))
	// Limit is the number of different expressions that a process can have.
	Limit = 1 << 18

	base    = 1 << (bits.UintSize - 3) // handles are -base to 1-2*base
	invalid = 1 - base                 // the result of operations on a value that is no length
)

// Overflow stands for a constant that no int holds. Sums and products with it are Overflow, and Check refuses it.
const Overflow = math.MaxInt

// Known reports whether a length is a constant.
func Known(d int) bool { return d >= -Largest && d <= Largest }

// AllKnown reports whether all lengths are constants.
func AllKnown(shape []int) bool {
	for _, d := range shape {
		if !Known(d) {
			return false
		}
	}
	return true
}

// Open reports whether a length is an expression.
func Open(d int) bool { return find(d) != nil }

// Check reports a value that is neither a constant of 0 or more nor an expression.
func Check(d int) error {
	switch {
	case d >= 0 && d <= Largest || find(d) != nil:
		return nil
	case d < 0 && d >= -Largest:
		return fmt.Errorf("a length of %d; axis lengths are 0 or more", d)
	case d == invalid && full():
		return fmt.Errorf("this process has worked with %d different expressions for the lengths of open axes, which is the most there can be", Limit)
	}
	return fmt.Errorf("a length of %d, which no memory holds; where axes are open, lengths are combined with the functions of package dim, not with + - * /", d)
}

// Symbol returns the size of the given name: letters, digits and underscores. Sizes are 0 or more.
func Symbol(name string) int {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return invalid
	}
	return intern(&expr{kind: symbol, name: name})
}

// Add returns the sum.
func Add(ds ...int) int {
	sum := 0
	for i, d := range ds {
		if d < -Largest {
			return add(sum, ds[i:])
		}
		if sum > 0 && d > Overflow-sum {
			return Overflow
		}
		sum += d
	}
	return sum
}

func add(sum int, ds []int) int {
	p := constant(sum)
	for _, d := range ds {
		q, ok := polynomialOf(d)
		if !ok {
			return invalid
		}
		p = p.plus(q, 1)
	}
	return p.handle()
}

// Sub returns a - b. A constant difference may be negative.
func Sub(a, b int) int {
	if Known(a) && Known(b) {
		return a - b
	}
	return combine(a, b, func(p, q polynomial) int { return p.plus(q, -1).handle() })
}

// Mul returns the product; 1 of none. A product of constants that no int holds is Overflow.
func Mul(ds ...int) int {
	product, over := 1, false
	for i, d := range ds {
		if d < -Largest { // a handle; in counts of bytes, a number may be larger than any length
			return mul(product, ds[i:])
		}
		high, low := bits.Mul64(magnitude(product), magnitude(d))
		over = over || high != 0 || low > math.MaxInt
		product *= d
		if d == 0 {
			return 0
		}
	}
	if over {
		return Overflow
	}
	return product
}

func magnitude(n int) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func mul(product int, ds []int) int {
	p := constant(product)
	for _, d := range ds {
		q, ok := polynomialOf(d)
		if !ok {
			return invalid
		}
		p = p.times(q)
	}
	return p.handle()
}

// FloorDiv returns a / b, rounded down. b must be positive.
func FloorDiv(a, b int) int {
	if Known(a) && Known(b) {
		if b < 1 {
			return invalid
		}
		q := a / b
		if a < 0 && a%b != 0 {
			q--
		}
		return q
	}
	return combine(a, b, floorDiv)
}

// CeilDiv returns a / b, rounded up. b must be positive.
func CeilDiv(a, b int) int { return FloorDiv(Sub(Add(a, b), 1), b) }

// Mod returns the remainder of FloorDiv.
func Mod(a, b int) int { return Sub(a, Mul(FloorDiv(a, b), b)) }

// Max returns the larger one.
func Max(a, b int) int {
	if Known(a) && Known(b) {
		return max(a, b)
	}
	return combine(a, b, func(p, q polynomial) int { return maximum([]polynomial{p, q}) })
}

// Min returns the smaller one.
func Min(a, b int) int {
	if Known(a) && Known(b) {
		return min(a, b)
	}
	return Sub(Add(a, b), Max(a, b))
}

// MayEqual reports whether two lengths are equal, or one of them is open, so that only a run will tell. Keras tests the
// same way: None fits anything.
func MayEqual(a, b int) bool { return a == b || !Known(a) || !Known(b) }

// ShapesMayEqual is MayEqual for each axis.
func ShapesMayEqual(a, b []int) bool { return slices.EqualFunc(a, b, MayEqual) }

// Differ reports whether two lengths are known to differ for all sizes of at least 1.
func Differ(a, b int) bool {
	if a == b {
		return false
	}
	if Known(a) && Known(b) {
		return true
	}
	p, ok := polynomialOf(a)
	q, also := polynomialOf(b)
	if !ok || !also {
		return false
	}
	more, known := p.plus(q, -1).least(1)
	less, alsoKnown := q.plus(p, -1).least(1)
	return known && more > 0 || alsoKnown && less > 0
}

// AtLeast reports whether a length is known to be n or more for all sizes.
func AtLeast(d, n int) bool {
	if Known(d) {
		return d >= n
	}
	p, ok := polynomialOf(d)
	if !ok {
		return false
	}
	least, known := p.least(0)
	return known && least >= n
}

func combine(a, b int, f func(p, q polynomial) int) int {
	p, ok := polynomialOf(a)
	q, also := polynomialOf(b)
	if !ok || !also {
		return invalid
	}
	return f(p, q)
}

// Less reports whether a is known to be smaller than b. If one of the lengths is open, that is only known if both are
// bounded by the same expression: t is less than t+1.
func Less(a, b int) bool {
	if Known(a) && Known(b) {
		return a < b
	}
	p, ok := polynomialOf(a)
	q, also := polynomialOf(b)
	if !ok || !also {
		return false
	}
	open, k := q.plus(p, -1).split()
	return len(open) == 0 && k > 0
}
