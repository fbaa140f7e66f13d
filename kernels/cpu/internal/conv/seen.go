package conv

// Copies of inputs (filters.go, planes.go, split.go) pay where each pixel takes part in many products. Large strides
// and distances of taps leave most pixels out, and then copies cost more than the convolution.

const (
	seenStrides = 8 // pixels to an output, from which on gradients of planes are mostly zeros
	seenFilters = 8 // of a group of one input, from which on tiles are full enough without copies
	seenForward = 7 // the same for results, whose tiles hold many pixels
	seenTaps    = 4 // for each output of a row, from which on gradients are those of planes all the same
)

// seen returns the products of an output channel with an input, and the pixels of that: their quotient is how often a
// pixel is seen. Neither the batch nor the height has a say: they may not change bits, and images may come in bands of
// rows. So an image is taken for a square.
func (s *Shape) seen() (products, pixels int) {
	out := s.Out()
	products, pixels = volume(s.Kernel)*out[0]*out[2], s.In[0]*s.In[2]
	if s.Kernel[1] > 1 || s.Strides[1] > 1 {
		products, pixels = products*out[2]*s.Strides[2], pixels*s.In[2]*s.Strides[1]
	}
	return products, pixels
}

// repeatsLittle reports whether repeated channels would be seen too little, or fill too little of a vector.
func repeatsLittle[T Float](s *Shape) bool {
	products, pixels := s.seen()
	return single[T]() && (s.OutChannels/s.Groups >= seenFilters && 4*products < 5*pixels || s.OutChannels < planesChannels && s.Kernel[0] > 1)
}

// planesSeenLittle reports whether planes would be.
func planesSeenLittle[T Float](s *Shape) bool {
	products, pixels := s.seen()
	return single[T]() && volume(s.Strides) >= seenStrides && 2*products < 3*pixels
}

// manyTaps reports whether rows of the result are so short that gradients by taps would be calls for a few numbers
// each.
func manyTaps(s *Shape) bool { return volume(s.Kernel) >= seenTaps*s.Out()[2] }
