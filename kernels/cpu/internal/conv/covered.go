package conv

// Where the window covers an axis, the outputs along it are one and see all of it. In a convolution without groups the
// pixels along an innermost axis of that kind are so many more channels, since they and the weights that they meet lie
// in the same order. If the window covers the whole image, both gradients are matrix products.

// covered reports whether the window covers axis i and nothing else.
func (s *Shape) covered(i int) bool {
	return s.Kernel[i] == s.In[i] && s.PadLow[i] == 0 && s.PadHigh[i] == 0 && (s.Kernel[i] == 1 || s.Dilation[i] == 1)
}

// covers reports whether the window covers the image.
func (s *Shape) covers() bool { return s.covered(0) && s.covered(1) && s.covered(2) }

// foldCovered makes channels of the innermost axes that the window covers, where the operation gains from it; those
// outside of them follow inwards.
func (s *Shape) foldCovered(o operation) {
	if s.Groups != 1 || s.Turned || s.Stacked || o == ofForward && s.covers() {
		return // a product has a row for each image, and one row may be summed in another order than several
	}
	for s.covered(2) && s.In != [3]int{1, 1, 1} && s.gainsWithout(o) {
		s.InChannels *= s.In[2]
		for _, v := range [...]*[3]int{&s.In, &s.Kernel, &s.Strides, &s.Dilation} {
			*v = [3]int{1, v[0], v[1]}
		}
		for _, v := range [...]*[3]int{&s.PadLow, &s.PadHigh} {
			*v = [3]int{0, v[0], v[1]}
		}
	}
	if s.covers() {
		s.Strides = [3]int{1, 1, 1}
	}
}

// gainsWithout reports whether an operation gains from a covered width that becomes channels. Ends of a padded row are
// products of their own or copies, whereas rows of one pixel below each other are joined over all images. And a unit of
// the kernel's gradient has all taps along the width: those of a large kernel would be too few without partial results.
// The gradient of the input always gains, since each of its pixels along a covered axis meets one tap.
func (s *Shape) gainsWithout(o operation) bool {
	padded := s.covered(0) && s.In[0] == 1 && (s.PadLow[1] != 0 || s.PadHigh[1] != 0)
	return o == ofData || !padded && (o == ofForward || s.covers() || s.tapsInside())
}
