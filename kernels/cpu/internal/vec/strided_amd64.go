package vec

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// gathering is the table that a kernel needs to make vectors from several others: see asmgen/vec. Each result has an
// entry of one vector for each source.
type gathering [4 * 4 * 16]int32

// gatherings caches the tables that were needed so far, by purpose, words of an element, number of sources, and whether
// vectors have 16 words.
var gatherings [3][2][9][2]atomic.Pointer[gathering]

const (
	forStrided = iota
	forApart
	forTurns
)

// gatheringFor returns the table for elements of the given words, in vectors of 16 words or of 8.
func gatheringFor(what, words, sources int, wide bool) unsafe.Pointer {
	w, lanes := 0, 8
	if wide {
		w, lanes = 1, 16
	}
	place := &gatherings[what][words-1][sources][w]
	if t := place.Load(); t != nil {
		return unsafe.Pointer(t)
	}
	t, results := new(gathering), sources
	if what == forStrided {
		results = 1
	}
	for j := range results {
		for i := range lanes {
			element, word := i/words, i%words
			from := (element*sources+j)*words + word // in the order of all sources together
			if what == forTurns {
				element += j * lanes / words
				from = element%sources*lanes + element/sources*words + word
			}
			switch source, element := from/lanes, from%lanes; {
			case sources%2 == 0:
				t.set(j*sources, i, lanes, source, element, sources, wide)
			case what == forTurns: // each source is rearranged, then they are blended
				t.blend(source*sources, i, element, j*sources, source, i, lanes)
			default: // the sources are blended, then the result is rearranged
				t.blend(j*sources, i, element, j*sources, source, element, lanes)
			}
		}
	}
	place.Store(t)
	return unsafe.Pointer(t)
}

// blend sets element i of an entry's index vector, which rearranges a blend, to the given element, and takes element at
// of the blend from the source, by its mask among the entries of the result. The first source needs no mask.
func (t *gathering) blend(index, i, element, result, source, at, lanes int) {
	if t[index*lanes+i] = int32(element); source > 0 {
		t[(result+source)*lanes+at] = -1
	}
}

// set makes element i of a result, whose entries begin with entry, an element of a source.
func (t *gathering) set(entry, i, lanes, source, element, sources int, wide bool) {
	if !wide {
		if t[entry*lanes+i] = int32(element); source > 0 {
			t[(entry+source)*lanes+i] = -1
		}
		return
	}
	for s := 1; s < sources; s++ { // blends source s into the ones before
		from := i
		switch {
		case s == source:
			from = lanes + element
		case s == 1 && source == 0:
			from = element
		}
		t[(entry+s-1)*lanes+i] = int32(from)
	}
}

// vectorLog returns the logarithm of the number of elements of a vector, for sizes that are powers of two: the
// divisions that it saves matter in short rows.
func vectorLog(size int, wide bool) uint {
	log := uint(5 - bits.TrailingZeros(uint(size)))
	if wide {
		log++
	}
	return log & 7
}

func strided(dst, src unsafe.Pointer, size, stride, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	log := vectorLog(size, wide)
	per := 1 << log
	// A vector of the result reads up to stride−1 elements behind its last one.
	groups := max(n*stride-(stride-1), 0) / stride >> log
	table := stridedTable(size, stride, wide)
	for at := 0; at < groups; {
		m := min(groups-at, callElements>>log)
		callStrided(wide, size, stride, unsafe.Add(dst, at*per*size), unsafe.Add(src, at*per*stride*size), uintptr(m), table)
		at += m
	}
	return groups * per
}

// stridedTable returns the table for elements that are stride apart; small ones are taken from whole groups.
func stridedTable(size, stride int, wide bool) unsafe.Pointer {
	if size < 4 {
		return gatheringFor(forApart, 1, stride, wide)
	}
	return gatheringFor(forStrided, size/4, stride, wide)
}

func callStrided(wide bool, size, stride int, dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer) {
	if size < 4 {
		callStridedSmall(wide, size, stride, dst, src, count, table)
		return
	}
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
	log := vectorLog(size, wide)
	per := 1 << log
	table, from := gatheringFor(forTurns, max(size/4, 1), len(sources), wide), unsafe.Pointer(unsafe.SliceData(sources))
	whole := n >> log
	for at := 0; at < whole; {
		m := min(whole-at, callElements>>log)
		to, offset := unsafe.Add(dst, at*per*size*len(sources)), uintptr((first+at*per)*size)
		switch {
		case size < 4:
			callTurnsSmall(wide, size, len(sources), to, from, offset, uintptr(m), table)
		case len(sources) == 2:
			callTurns2(wide, to, from, offset, uintptr(m), table)
		case len(sources) == 3:
			callTurns3(wide, to, from, offset, uintptr(m), table)
		default:
			callTurns4(wide, to, from, offset, uintptr(m), table)
		}
		at += m
	}
	return whole * per
}

func apart(destinations []unsafe.Pointer, src unsafe.Pointer, size, behind, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	log, parts := vectorLog(size, wide), len(destinations)
	per, groups := 1<<log, max(n*parts-behind, 0)/parts>>log
	table, to := gatheringFor(forApart, max(size/4, 1), parts, wide), unsafe.Pointer(unsafe.SliceData(destinations))
	for at := 0; at < groups; {
		m := min(groups-at, callElements>>log)
		from, offset := unsafe.Add(src, at*per*size*parts), uintptr(at*per*size)
		switch {
		case size < 4:
			callApartSmall(wide, size, parts, to, from, offset, uintptr(m), table)
		case parts == 2:
			callApart2(wide, to, from, offset, uintptr(m), table)
		case parts == 3:
			callApart3(wide, to, from, offset, uintptr(m), table)
		default:
			callApart4(wide, to, from, offset, uintptr(m), table)
		}
		at += m
	}
	return groups * per
}

// reversedTables has index vectors for elements of 1, 2, 4 and 8 bytes, in vectors of 8 and of 16 words: indices of
// words, and of bytes within each 16.
var reversedTables = func() (t [4][2][32]uint32) {
	for log := range t {
		words := max(1<<log/4, 1)
		for w, lanes := range [2]int{8, 16} {
			for i := range lanes {
				t[log][w][i] = uint32(lanes - words - i/words*words + i%words)
				bytes := [4]uint32{0x00010203, 0x01000302, 0x03020100, 0x03020100}[log]
				t[log][w][lanes+i] = bytes + uint32(i%4)*0x04040404
			}
		}
	}
	return t
}()

// reversed is Reversed as far as vectors go.
func reversed(dst, src unsafe.Pointer, size, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	log, w := vectorLog(size, wide), 0
	if wide {
		w = 1
	}
	per, whole, table := 1<<log, n>>log, unsafe.Pointer(&reversedTables[bits.TrailingZeros(uint(size))&3][w])
	for at := 0; at < whole; {
		m := min(whole-at, callElements>>log)
		callReversed(wide, unsafe.Add(dst, at*per*size), unsafe.Add(src, size-(at+1)*per*size), uintptr(m), table)
		at += m
	}
	return whole * per
}
