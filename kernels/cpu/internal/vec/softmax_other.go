//go:build !amd64 && !arm64

package vec

func (s *Scores) softmax32(_, _ []float32, _ float32) (coarse, ok bool) { return false, false }
func (s *Scores) hide32(_ []float32, _ []uint8, _ int) bool             { return false }
func (s *Scores) softmaxGrad32(_, _, _ []float32, _ float32) bool       { return false }

func (c *ScoreColumns) softmax32([]float32, float32) bool { return false }

func scaleColumns32(y, by []float32, n int, divide bool) bool { return false }

func hideColumns32([]float32, []uint32) bool { return false }
