package vec

// Within reports whether all numbers are from 0 to last, which must not be negative. To avoid a branch for each, it
// collects the signs of the numbers and of their differences to last.
func Within(x []int32, last int32) bool {
	x, signs := withinSigns(x, last)
	for _, a := range x {
		signs |= a | (last - a)
	}
	return signs >= 0
}
