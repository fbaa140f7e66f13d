package conv

// If the window covers an axis, there is one output along it, which sees the whole axis. In a convolution without
// groups, the pixels along such an innermost axis can be treated as channels, because they and their weights are in the
// same order. If the window covers the whole image, the convolution and both its gradients are matrix products.

// covered reports whether the window coincides with axis i, without padding.
func (s *Shape) covered(i int) bool {
	return s.Kernel[i] == s.In[i] && s.PadLow[i] == 0 && s.PadHigh[i] == 0 && (s.Kernel[i] == 1 || s.Dilation[i] == 1)
}

// covers reports whether the window covers the image.
func (s *Shape) covers() bool { return s.covered(0) && s.covered(1) && s.covered(2) }

// foldCovered turns the innermost axes that the window covers into channels, where the operation gains from it. The
// outer axes move inwards.
func (s *Shape) foldCovered(o operation) {
	if s.Groups != 1 || s.Turned || s.Stacked || o == ofForward && s.covers() {
		return // a matrix product has one row for each image, and a single row may be summed in another order than several
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

// gainsWithout reports whether an operation gains if a covered width becomes channels. The ends of padded rows are
// products of their own, or copies, but rows of a single pixel are joined over all images. On the other hand, a unit of
// the kernel gradient takes all taps along the width, so units of a large kernel would be too few without partial
// results. The input gradient always gains, because each pixel along a covered axis meets one tap.
func (s *Shape) gainsWithout(o operation) bool {
	padded := s.covered(0) && s.In[0] == 1 && (s.PadLow[1] != 0 || s.PadHigh[1] != 0)
	return (o == ofData || !padded && (o == ofForward || s.covers() || s.tapsInside())) && byCoveredAxes.Taken()
}
