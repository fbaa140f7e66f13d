//go:build !amd64

package vec

func (s *Scores) softmaxHalves(_ []uint16, _, _, _ []float32, _ float32, _ int) (coarse, ok bool) {
	return false, false
}

func scaleHalves(_ []uint16, _, _ []float32, _, _, _ int) bool { return false }
