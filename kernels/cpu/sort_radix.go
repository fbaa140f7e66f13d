package cpu

import "slices"

// radixLength is the length from which on pairs are sorted digit by digit.
const radixLength = 96

// fewSorted is the largest number of pairs that are sorted by insertion.
const fewSorted = 12

// sortPairs returns the sorted pairs in one of the two buffers. Keys have the given number of 8-bit digits. The pairs
// must be in the order of their positions.
func sortPairs(pairs, spare []uint64, digits int) []uint64 {
	switch n := len(pairs); {
	case n <= fewSorted:
		insertionSort(pairs)
	case n < radixLength:
		slices.Sort(pairs)
	default:
		return radixSort(pairs, spare, digits)
	}
	return pairs
}

func insertionSort(pairs []uint64) {
	for i := 1; i < len(pairs); i++ {
		pair, k := pairs[i], i
		for ; k > 0 && pair < pairs[k-1]; k-- {
			pairs[k] = pairs[k-1]
		}
		pairs[k] = pair
	}
}

// radixSort sorts by the lowest digit of the keys first.
func radixSort(a, b []uint64, digits int) []uint64 {
	b = b[:len(a)]
	var counts [4][256]uint32
	countDigits(&counts, a, digits)
	for digit := range digits {
		count, shift := &counts[digit], 32+8*digit
		if count[uint8(a[0]>>shift)] == uint32(len(a)) {
			continue // the digit is the same in all keys
		}
		at := uint32(0)
		for i, c := range count {
			count[i] = at
			at += c
		}
		for _, pair := range a {
			to := &count[uint8(pair>>shift)]
			b[*to] = pair
			*to++
		}
		a, b = b, a
	}
	return a
}

// countDigits counts how often each digit occurs.
func countDigits(counts *[4][256]uint32, pairs []uint64, digits int) {
	switch digits {
	case 1:
		for _, pair := range pairs {
			counts[0][uint8(pair>>32)]++
		}
	case 2:
		for _, pair := range pairs {
			counts[0][uint8(pair>>32)]++
			counts[1][uint8(pair>>40)]++
		}
	default:
		for _, pair := range pairs {
			counts[0][uint8(pair>>32)]++
			counts[1][uint8(pair>>40)]++
			counts[2][uint8(pair>>48)]++
			counts[3][uint8(pair>>56)]++
		}
	}
}
