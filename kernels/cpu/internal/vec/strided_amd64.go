package vec

import "unsafe"

// laneTables are index vectors and masks of words, for vectors of 8 and of 16 words.
type laneTables [2][8 * 16]int32

func (t *laneTables) of(wide bool) unsafe.Pointer {
	if wide {
		return unsafe.Pointer(&t[1])
	}
	return unsafe.Pointer(&t[0])
}

// stridedTables and turnsTables are those for elements of one and of two words, by stride and by the number of sources.
var stridedTables, turnsTables = func() (s [2][9]laneTables, t [2][5]laneTables) {
	for words := 1; words <= 2; words++ {
		for w, lanes := range [2]int{8, 16} {
			for stride := 2; stride <= 8; stride++ {
				fillStrided(s[words-1][stride][w][:], words, lanes, stride)
			}
			for count := 2; count <= 4; count++ {
				fillTurns(t[words-1][count][w][:], words, lanes, count)
			}
		}
	}
	return s, t
}()

// fillStrided says from which lane each word of a vector comes, and from which of the vectors behind the first one.
func fillStrided(table []int32, words, lanes, stride int) {
	for i := range lanes {
		from := i/words*stride*words + i%words
		table[i] = int32(from % lanes)
		if v := from / lanes; v > 0 {
			table[v*lanes+i] = -1
		}
	}
}

// fillTurns says for count vectors from which lane of the sources their words come, then which words are those of a
// source.
func fillTurns(table []int32, words, lanes, count int) {
	for i := range count * lanes {
		table[i] = int32(i/words/count*words + i%words)
	}
	for i := range lanes {
		table[(count+i/words%count)*lanes+i] = -1
	}
}

func strided(dst, src unsafe.Pointer, size, stride, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	per := 32 / size // elements of a vector
	if wide {
		per *= 2
	}
	// A vector of the result reads up to stride−1 elements behind its last one.
	groups := max(n*stride-(stride-1), 0) / (per * stride)
	table := stridedTables[size/4-1][stride].of(wide)
	for at := 0; at < groups; {
		m := min(groups-at, callElements/per)
		callStrided(wide, stride, unsafe.Add(dst, at*per*size), unsafe.Add(src, at*per*stride*size), uintptr(m), table)
		at += m
	}
	return groups * per
}

func callStrided(wide bool, stride int, dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer) {
	switch stride {
	case 2:
		callStrided2(wide, dst, src, count, table)
	case 3:
		callStrided3(wide, dst, src, count, table)
	case 4:
		callStrided4(wide, dst, src, count, table)
	case 5:
		callStrided5(wide, dst, src, count, table)
	case 6:
		callStrided6(wide, dst, src, count, table)
	case 7:
		callStrided7(wide, dst, src, count, table)
	default:
		callStrided8(wide, dst, src, count, table)
	}
}

func turns(dst unsafe.Pointer, sources []unsafe.Pointer, size, first, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	per := 32 / size
	if wide {
		per *= 2
	}
	table, from := turnsTables[size/4-1][len(sources)].of(wide), unsafe.Pointer(unsafe.SliceData(sources))
	whole := n / per
	for at := 0; at < whole; {
		m := min(whole-at, callElements/per)
		to, offset := unsafe.Add(dst, at*per*size*len(sources)), uintptr((first+at*per)*size)
		switch len(sources) {
		case 2:
			callTurns2(wide, to, from, offset, uintptr(m), table)
		case 3:
			callTurns3(wide, to, from, offset, uintptr(m), table)
		default:
			callTurns4(wide, to, from, offset, uintptr(m), table)
		}
		at += m
	}
	return whole * per
}

// reversedTables are index vectors for elements of one and of two words.
var reversedTables = func() (t [2]laneTables) {
	for words := 1; words <= 2; words++ {
		for w, lanes := range [2]int{8, 16} {
			for i := range lanes {
				t[words-1][w][i] = int32(lanes - words - i/words*words + i%words)
			}
		}
	}
	return t
}()

// reversed is Reversed by vectors, as far as they go.
func reversed(dst, src unsafe.Pointer, size, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	per := 32 / size
	if wide {
		per *= 2
	}
	whole, table := n/per, reversedTables[size/4-1].of(wide)
	for at := 0; at < whole; {
		m := min(whole-at, callElements/per)
		callReversed(wide, unsafe.Add(dst, at*per*size), unsafe.Add(src, size-(at+1)*per*size), uintptr(m), table)
		at += m
	}
	return whole * per
}
