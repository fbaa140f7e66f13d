package conv

// Training uses tiles of 2x2 outputs only. Their rounding is about that of [Forward] (within 2e-6 of the largest
// result). The kernel is transformed anew at each step. The gradient of the input is a convolution too, with the kernel
// turned around.

const (
	smallTiles      = 64  // fewest tiles of all images: fewer do not pay for the transformation of the kernel
	minSmallSavings = 1.7 // direct products for each of Winograd's: they are fewer if an image cuts off most of its last tiles
	mostPad         = 2   // most taps beyond the edge of an image: a kernel of three sees no more
)

// NewSmallWinograd returns the convolution by tiles of 2x2 outputs, or nil if [Forward] is better. The kernel is
// transformed once for that many images.
func NewSmallWinograd(s *Shape, images int) *Winograd {
	n := s.checked(ofForward)
	if n.Kernel != [3]int{1, 3, 3} || n.Strides != [3]int{1, 1, 1} || n.Dilation != [3]int{1, 1, 1} || n.Groups != 1 || n.In[0] != 1 || n.PadLow[0] != 0 || n.PadHigh[0] != 0 ||
		n.Batch == 0 || min(n.InChannels, n.OutChannels) < winogradChannels {
		return nil
	}
	for i := 1; i < 3; i++ {
		if min(n.PadLow[i], n.PadHigh[i]) < 0 || max(n.PadLow[i], n.PadHigh[i]) > mostPad {
			return nil
		}
	}
	w := &Winograd{shape: n, out: n.Out(), first: [2][]int{{0}, {0}}}
	if min(w.out[1], w.out[2]) < winogradPixels {
		return nil
	}
	if w.prepare(2); images*w.rows*w.cols < smallTiles || w.Spared() < minSmallSavings {
		return nil
	}
	return w
}

// NewWinogradInputGradient returns the convolution of dy, the gradient of the result, that yields the gradient of the
// input. Its kernel is that of s, which [Winograd.Transform] turns around. It returns nil if [BackwardData] is better.
func NewWinogradInputGradient(s *Shape, images int) *Winograd {
	n := s.checked(ofForward)
	turned := n
	turned.In, turned.InChannels, turned.OutChannels = n.Out(), n.OutChannels, n.InChannels
	for i := 1; i < 3; i++ {
		turned.PadLow[i], turned.PadHigh[i] = mostPad-n.PadLow[i], mostPad-n.PadHigh[i]
	}
	w := NewSmallWinograd(&turned, images)
	if w == nil || w.out != n.In { // there are pixels that the convolution of s does not see
		return nil
	}
	w.turned = true
	return w
}
