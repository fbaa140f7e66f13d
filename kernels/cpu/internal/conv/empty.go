package conv

// without reports whether there are no input or no output channels. The kernel then has no elements, and only the bias
// is left.
func (s *Shape) without() bool { return s.InChannels == 0 || s.OutChannels == 0 }

// computeBias computes a convolution without input channels.
func computeBias[T Float](y, bias []T, relu bool) {
	clear(y)
	if len(bias) == 0 {
		return
	}
	for i := 0; i+len(bias) <= len(y); i += len(bias) {
		copy(y[i:], bias)
	}
	if relu {
		for i := range y {
			y[i] = max(y[i], 0)
		}
	}
}
