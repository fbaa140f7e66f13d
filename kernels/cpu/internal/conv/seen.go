package conv

// Copying inputs (filters.go, planes.go, split.go) pays where each pixel takes part in many products. Large strides and
// dilations skip most pixels; there, the copies cost more than the convolution.

const (
	seenStrides = 8 // pixels for each output from which on gradients of planes are mostly zeros
	seenFilters = 8 // filters of a channel from which on tiles are full enough without copies
	seenForward = 7 // the same for results, whose tiles hold many pixels

	manyFilters  = 5 // filters of a channel from which on strided windows do not repeat it, except for input gradients
	manyTapsAVX2 = 9 // taps from which on channels that fill no vector are repeated whatever the stride
	longRowAVX2  = 5 // taps of a row from which on a vector of filters is repeated in float64

	seenTaps = 4 // taps for each output of a row from which on gradients use planes all the same
)

// seen returns the number of products of one output channel with one input channel, and the number of pixels of that
// input: their quotient is how often a pixel is seen. It ignores the batch and the height, because they must not change
// bits and images may come in bands of rows. It takes images to be square.
func (s *Shape) seen() (products, pixels int) {
	out := s.Out()
	products, pixels = volume(s.Kernel)*out[0]*out[2], s.In[0]*s.In[2]
	if s.Kernel[1] > 1 || s.Strides[1] > 1 {
		products, pixels = products*out[2]*s.Strides[2], pixels*s.In[2]*s.Strides[1]
	}
	return products, pixels
}

// repeatsMostlyUnused reports whether repeated channels would be used too little, or would fill too little of a vector.
func repeatsMostlyUnused[T Float](s *Shape) bool {
	products, pixels := s.seen()
	return single[T]() && (s.OutChannels/s.Groups >= seenFilters && 4*products < 5*pixels || s.OutChannels < planesChannels && s.Kernel[0] > 1)
}

// planesMostlyUnused reports whether planes would be used too little.
func planesMostlyUnused[T Float](s *Shape) bool {
	products, pixels := s.seen()
	return single[T]() && volume(s.Strides) >= seenStrides && 2*products < 3*pixels
}

// manyTaps reports whether rows of the result are so short that a gradient by taps would make a call for each few
// numbers.
func manyTaps(s *Shape) bool { return volume(s.Kernel) >= seenTaps*s.Out()[2] }
