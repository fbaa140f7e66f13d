package conv

// axis is one spatial axis of a correlation: output position j reads, at tap t, the input position
// j·inStep + inOffset + t·tapStep, and is stored at outStart + j·outStep.
type axis struct {
	out, in, taps             int
	inStep, inOffset, tapStep int
	outStart, outStep         int
}

// inside returns the taps [first, end) that lie inside the input at output j, or (0, 0) if there are none.
func (a *axis) inside(j int) (first, end int) {
	base := j*a.inStep + a.inOffset
	if base < 0 {
		first = ceil(-base, a.tapStep)
	}
	if last := a.in - 1 - base; last >= 0 {
		end = min(last/a.tapStep+1, a.taps)
	}
	if first >= end {
		return 0, 0
	}
	return first, end
}

// outputs returns the outputs [first, end) at which tap t lies inside the input.
func (a *axis) outputs(t int) (first, end int) {
	base := a.inOffset + t*a.tapStep
	if base < 0 {
		first = ceil(-base, a.inStep)
	}
	if last := a.in - 1 - base; last >= 0 {
		end = min(last/a.inStep+1, a.out)
	}
	return min(first, end), end
}

// span is a run of outputs [first, end) at which exactly the taps [tap, tapEnd) are inside the input.
type span struct{ first, end, tap, tapEnd int }

// spans cuts the outputs of the axis into spans and appends them to s.
func (a *axis) spans(s []span) []span {
	for j := 0; j < a.out; {
		first, end := a.inside(j)
		k := j + 1
		for ; k < a.out; k++ {
			if f, e := a.inside(k); f != first || e != end {
				break
			}
		}
		s = append(s, span{j, k, first, end})
		j = k
	}
	return s
}

// forwardAxis returns axis i of the forward convolution.
func (s *Shape) forwardAxis(i int, out [3]int) axis {
	return axis{out: out[i], in: s.In[i], taps: s.Kernel[i], inStep: s.Strides[i], inOffset: -s.PadLow[i], tapStep: s.Dilation[i], outStep: 1}
}

// phase is the part of an axis of the input gradient whose input positions have one residue modulo the stride. Tap t of
// its axis is tap last − t·step of the kernel, which is flipped.
type phase struct {
	axis       axis
	last, step int
}

// backwardPhase returns the phase of axis i with the given residue. Position i of dx receives dy[o]·kernel[r] for all
// r, o with o·stride = i + padLow − r·dilation.
func (s *Shape) backwardPhase(i, residue int, out [3]int) phase {
	stride, dilation := s.Strides[i], s.Dilation[i]
	p := phase{axis: axis{out: ceil(s.In[i]-residue, stride), in: out[i], inStep: 1, outStart: residue, outStep: stride, tapStep: 1}, step: 1}
	if p.axis.out < 0 {
		p.axis.out = 0
	}
	p.step = stride / gcd(stride, dilation)
	first := -1
	for r := range min(p.step, s.Kernel[i]) {
		if (residue+s.PadLow[i]-r*dilation)%stride == 0 {
			first = r
			break
		}
	}
	if first < 0 {
		return p // no tap of the kernel meets this residue
	}
	p.axis.taps = (s.Kernel[i]-1-first)/p.step + 1
	p.last = first + (p.axis.taps-1)*p.step
	p.axis.tapStep = p.step * dilation / stride
	p.axis.inOffset = (residue + s.PadLow[i] - p.last*dilation) / stride
	return p
}

// phases returns the number of phases of axis i.
func (s *Shape) phases(i int) int { return min(s.Strides[i], s.In[i]) }

// nextPhase returns the first phase of axis i, at or after from, that may need more memory than those before it: one
// that a tap of the kernel meets, or the first one without taps, which is the longest of these. If there is none, it
// returns the number of phases. So callers look at few phases, however far apart the taps are.
func (s *Shape) nextPhase(i, from int) int {
	stride, next := s.Strides[i], s.phases(i)
	without := 0
	for r := range s.Kernel[i] {
		residue := ((r*s.Dilation[i]-s.PadLow[i])%stride + stride) % stride
		if residue >= from {
			next = min(next, residue)
		}
	}
	for without < next && s.backwardPhase(i, without, s.In).axis.taps > 0 {
		without++
	}
	if without >= from {
		next = min(next, without)
	}
	return next
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
