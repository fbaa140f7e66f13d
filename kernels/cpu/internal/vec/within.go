package vec

// Within reports whether all numbers are from 0 to last, which is not negative. Without a branch for each, it collects
// the signs of the numbers and of what is left up to the last.
func Within(x []int32, last int32) bool {
	x, signs := withinSigns(x, last)
	for _, a := range x {
		signs |= a | (last - a)
	}
	return signs >= 0
}
