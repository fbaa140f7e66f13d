package conv

// Where the window covers an axis, the outputs along it are one and see all of it. In a convolution without groups the
// pixels along an innermost axis of that kind are so many more channels, since they and the weights that they meet lie
// in the same order. If the window covers the whole image, all three operations are matrix products.

// covered reports whether the window covers axis i and nothing else.
func (s *Shape) covered(i int) bool {
	return s.Kernel[i] == s.In[i] && s.PadLow[i] == 0 && s.PadHigh[i] == 0 && (s.Kernel[i] == 1 || s.Dilation[i] == 1)
}

// covers reports whether the window covers the image.
func (s *Shape) covers() bool { return s.covered(0) && s.covered(1) && s.covered(2) }

// foldCovered makes channels of the innermost axes that the window covers; those outside of them follow inwards.
func (s *Shape) foldCovered() {
	if s.Groups != 1 || s.Turned || s.Stacked {
		return
	}
	for s.covered(2) && s.In != [3]int{1, 1, 1} {
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
