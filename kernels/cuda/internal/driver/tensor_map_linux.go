//go:build linux

package driver

import "unsafe"

// EncodeTensorMap calls the driver. The map must be aligned to 64 bytes.
func (l *library) EncodeTensorMap(a Address, t Tiled) (TensorMap, Result) {
	const (
		float16, bfloat16 = 6, 9
		interleaveNone    = 0
		swizzle128        = 3
		promotion256      = 3 // the size of L2 fetches
		fillZeros         = 0
		align             = 64
	)
	if l.encodeTiled == nil {
		return TensorMap{}, NotFound
	}
	if !t.Valid(a) {
		return TensorMap{}, InvalidValue
	}
	kind := int32(float16)
	if t.BFloat16 {
		kind = bfloat16
	}
	var lengths [3]uint64
	var strides [2]uint64
	var box [3]uint32
	for i := range 3 {
		lengths[i], box[i] = uint64(t.Lengths[i]), uint32(t.Box[i])
	}
	for i := range strides {
		strides[i] = uint64(t.Strides[i])
	}
	steps := [3]uint32{1, 1, 1}
	memory := make([]uint64, 2*TensorMapWords)
	first := uintptr(unsafe.Pointer(&memory[0]))
	words := memory[(align-first%align)%align/8:][:TensorMapWords]
	r := l.encodeTiled(unsafe.Pointer(&words[0]), kind, uint32(t.Rank), a, &lengths[0], &strides[0], &box[0], &steps[0], interleaveNone, swizzle128, promotion256, fillZeros)
	return TensorMap(words), r
}
