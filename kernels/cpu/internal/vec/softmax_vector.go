//go:build amd64 || arm64

package vec

import (
	"math"
	"unsafe"
)

// hiddenLanes holds, for each number of elements that a row sees of its last group, from 1 on, the mask of the other
// lanes.
var hiddenLanes = func() (masks [scoreGroup][scoreGroup]uint32) {
	for seen := range masks {
		for lane := seen + 1; lane < scoreGroup; lane++ {
			masks[seen][lane] = 1<<32 - 1
		}
	}
	return masks
}()

// The rows of one assembly call, which goes through them two or three times: few enough to stay in the first-level
// cache.
const (
	scoreRows     = 64
	scoreElements = 6 << 10
)

// pieces calls f for runs of rows, of arrays arrays, that see parts of the same number of groups. f gets the first row,
// the number of rows, the elements of the groups, the mask of the first row, and the distance in bytes to the next
// row's mask.
func (s *Scores) pieces(arrays int, f func(first, rows, n int, mask *float32, step uintptr)) {
	most := max(min(scoreRows, scoreElements/arrays/s.Stride), 1)
	for first := 0; first < s.Rows; {
		seen := s.Sees(first)
		last := (seen - 1) % scoreGroup
		rows, step := min(s.Rows-first, most), 0
		if s.Step > 0 && seen < s.Cols {
			rows, step = min(rows, scoreGroup-last, s.Cols-seen+1), int(unsafe.Sizeof(hiddenLanes[0]))
		}
		f(first, rows, seen-1-last+scoreGroup, (*float32)(unsafe.Pointer(&hiddenLanes[last])), uintptr(step))
		first += rows
	}
}

func (s *Scores) hide32(x []float32, mask []uint8, rowStep int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	most := max(callElements/s.Stride, 1)
	for first := 0; first < s.Rows; first += most {
		callHideRows(wide, unsafe.Pointer(&x[first*s.Stride]), unsafe.Pointer(&mask[first*rowStep]), uintptr(min(most, s.Rows-first)), uintptr(s.Cols),
			uintptr(4*s.Stride), uintptr(rowStep))
	}
	return true
}

func (s *Scores) softmax32(x, total []float32, scale float32) (coarse, ok bool) {
	wide, ok := vectors()
	if !ok {
		return false, false
	}
	var sums [scoreRows]float32
	s.pieces(1, func(first, rows, n int, mask *float32, step uintptr) {
		callSoftmaxRows(wide, at(x, first*s.Stride), at(total, first), &sums[0], mask, uintptr(rows), uintptr(n), uintptr(4*s.Stride), step,
			uintptr(s.Stride-n), unsafe.Pointer(&scale))
		for _, t := range total[first : first+rows] {
			coarse = coarse || Coarse(t) && t != -math.MaxFloat32 // which means no score
		}
		Log(sums[:rows], sums[:rows])
		Add(total[first:first+rows], total[first:first+rows], sums[:rows])
	})
	return coarse, true
}

func (s *Scores) softmaxGrad32(p, d, total []float32, scale float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	var shifts [scoreRows]float32
	s.pieces(2, func(first, rows, n int, mask *float32, step uintptr) {
		for i, t := range total[first : first+rows] {
			shifts[i] = shiftOf(t)
		}
		callSoftmaxRowsGrad(wide, at(p, first*s.Stride), at(d, first*s.Stride), &shifts[0], mask, uintptr(rows), uintptr(n), uintptr(4*s.Stride), step,
			uintptr(s.Stride-n), unsafe.Pointer(&scale))
	})
	return true
}
