package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Groups of one channel with several filters leave most lanes of a tile empty. Few channels go along the width instead
// (see wide.go). Others are repeated, once for each filter, so that every channel has one filter. Gradients of repeated
// inputs are added up.

// repeats reports whether an operation is computed with repeated channels.
func repeats[T Float](s *Shape, o operation) bool {
	if s.Groups <= 1 || s.Groups != s.InChannels || s.OutChannels <= s.InChannels || isWide[T](s, 7) || repeatsMostlyUnused[T](s) {
		return false
	}
	if o == ofForward && single[T]() && s.OutChannels/s.Groups >= seenForward {
		return false
	}
	if usesAVX2() {
		return repeatsAVX2[T](s, o) && byRepeats.Taken()
	}
	return repeatsAVX512[T](s, o) && byRepeats.Taken()
}

// repeatsAVX512 reports whether copies pay with vectors of 16 numbers: always for input gradients; else unless not even
// all filters fill a short vector, or many filters do, and strides skip most of what was copied or, for results,
// vectors are short or copies few. This follows 600 random shapes on Zen 4. NEON, which was not measured, has the same
// rule.
func repeatsAVX512[T Float](s *Shape, o operation) bool {
	lanes, many := micro.NarrowChannels[T](), s.OutChannels/s.Groups >= manyFilters
	switch {
	case o == ofData:
		return true
	case s.OutChannels < lanes || many && volume(s.Strides) > 1:
		return false
	}
	return o != ofForward || !many || single[T]() && s.OutChannels >= 2*lanes
}

// repeatsAVX2 reports whether copies pay with AVX2: several filters fill its vectors better without them, unless each
// pixel is seen often. This follows a grid of 600 shapes on Zen 3.
func repeatsAVX2[T Float](s *Shape, o operation) bool {
	lanes, taps, strides := micro.NarrowChannels[T](), volume(s.Kernel), volume(s.Strides)
	filters := s.OutChannels / s.Groups
	switch {
	case s.OutChannels < lanes && strides > 1 && taps < manyTapsAVX2:
		return false
	case 2*filters <= lanes+2:
		return true
	case o == ofForward && single[T]():
		return strides == 1
	case o == ofForward:
		return filters <= lanes && s.Kernel[2] >= longRowAVX2
	case o == ofData && single[T]():
		return lanes*taps*taps >= 3*filters*strides
	case o == ofData:
		return lanes*taps > 2*filters*strides
	}
	return lanes*taps > 4*filters*strides
}

// repeated returns the shape of the convolution of repeated channels.
//
//go:noinline
func (s *Shape) repeated() Shape {
	r := *s
	r.InChannels, r.Groups = s.OutChannels, s.OutChannels
	return r
}

// filters copies a number of each channel to all its filters, or adds up the numbers of a channel's filters.
type filters[T Float] struct {
	count       int // of a channel
	channels, x []T // a number for each channel, and for each filter
	add         bool
}

var (
	filters32 pool.Recycler[filters[float32]]
	filters64 pool.Recycler[filters[float64]]
)

const filtersBlock = 512 // channels that are processed at a time

func runFilters[T Float](p *pool.Pool, channels, x []T, add bool) {
	if len(channels) == 0 {
		return
	}
	var zero T
	f := (*filters[T])(nil)
	if unsafe.Sizeof(zero) == 4 {
		f = (*filters[T])(unsafe.Pointer(filters32.Get()))
	} else {
		f = (*filters[T])(unsafe.Pointer(filters64.Get()))
	}
	f.count, f.channels, f.x, f.add = len(x)/len(channels), channels, x, add
	p.Parallel(ceil(len(channels), filtersBlock), 32, f)
	f.channels, f.x = nil, nil // let go of the caller's memory
	if unsafe.Sizeof(zero) == 4 {
		filters32.Put((*filters[float32])(unsafe.Pointer(f)))
		return
	}
	filters64.Put((*filters[float64])(unsafe.Pointer(f)))
}

// Run processes blocks of channels.
func (f *filters[T]) Run(_, lo, hi int) {
	for k := lo; k < hi; k++ {
		first := k * filtersBlock
		channels := f.channels[first:min(first+filtersBlock, len(f.channels))]
		x := f.x[first*f.count:][:len(channels)*f.count]
		if f.add {
			addFilters(channels, x, f.count)
			continue
		}
		copyFilters(x, channels, f.count)
	}
}

// copyFilters repeats each number count times.
func copyFilters[T Float](dst, x []T, count int) {
	var zero T
	var sources [4]unsafe.Pointer
	done := 0
	if count <= len(sources) {
		for i := range count {
			sources[i] = unsafe.Pointer(unsafe.SliceData(x))
		}
		done = vec.Turns(unsafe.Pointer(unsafe.SliceData(dst)), sources[:count], int(unsafe.Sizeof(zero)), 0, len(x))
	}
	for i := done; i < len(x); i++ {
		for j := range count {
			dst[i*count+j] = x[i]
		}
	}
}

// addFilters adds up each run of count numbers.
func addFilters[T Float](dst, x []T, count int) {
	var part [filtersBlock]T
	clear(dst)
	for j := range count {
		from := x[j:]
		p := part[:len(dst)]
		done := vec.Strided(unsafe.Pointer(unsafe.SliceData(p)), unsafe.Pointer(unsafe.SliceData(from)), int(unsafe.Sizeof(p[0])), count, len(p))
		for i := done; i < len(p); i++ {
			p[i] = from[i*count]
		}
		vec.Add(dst, dst, p)
	}
}
