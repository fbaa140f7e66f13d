//go:build amd64 || arm64

package vec

import "unsafe"

// The functions below process the first elements, in whole vectors, and return how many. Loops without vectors process
// the others, with the same bits.

// ruleParts calls f for parts of n elements.
func ruleParts(n int, f func(wide bool, from int, count uintptr)) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	i := 0
	for end := whole(wide, n); i < end; {
		count := min(callElements, end-i)
		f(wide, i, uintptr(count))
		i += count
	}
	if wide && n-i >= 8 {
		f(false, i, 8)
		i += 8
	}
	return i
}

func ruleAdagrad32(w, sum, g []float32, scalars [2]float32) int {
	return ruleParts(len(w), func(wide bool, i int, n uintptr) {
		callRuleAdagrad(wide, at(w, i), at(sum, i), at(g, i), n, unsafe.Pointer(&scalars))
	})
}

func ruleAdam32(w, m, v, g []float32, scalars [4]float32) int {
	return ruleParts(len(w), func(wide bool, i int, n uintptr) {
		callRuleAdam(wide, at(w, i), at(m, i), at(v, i), at(g, i), n, unsafe.Pointer(&scalars))
	})
}

func ruleMomentum32(w, m, g []float32, scalars [2]float32, nesterov bool) int {
	return ruleParts(len(w), func(wide bool, i int, n uintptr) {
		if nesterov {
			callRuleNesterov(wide, at(w, i), at(m, i), at(g, i), n, unsafe.Pointer(&scalars))
		} else {
			callRuleMomentum(wide, at(w, i), at(m, i), at(g, i), n, unsafe.Pointer(&scalars))
		}
	})
}

func ruleRMSprop32(w, v, m, average, g []float32, scalars [5]float32) int {
	return ruleParts(len(w), func(wide bool, i int, n uintptr) {
		s := unsafe.Pointer(&scalars)
		switch {
		case m == nil && average == nil:
			callRuleRMSprop(wide, at(w, i), at(v, i), nil, nil, at(g, i), n, s)
		case average == nil:
			callRuleRMSpropMomentum(wide, at(w, i), at(v, i), at(m, i), nil, at(g, i), n, s)
		case m == nil:
			callRuleRMSpropCentered(wide, at(w, i), at(v, i), nil, at(average, i), at(g, i), n, s)
		default:
			callRuleRMSpropCenteredMomentum(wide, at(w, i), at(v, i), at(m, i), at(average, i), at(g, i), n, s)
		}
	})
}

func ruleFTRL32(w, sum, linear, g []float32, scalars [5]float32) int {
	return ruleParts(len(w), func(wide bool, i int, n uintptr) {
		callRuleFTRL(wide, at(w, i), at(sum, i), at(linear, i), at(g, i), n, unsafe.Pointer(&scalars))
	})
}
