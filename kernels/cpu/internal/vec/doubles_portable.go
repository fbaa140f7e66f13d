//go:build !amd64 && !arm64

package vec

func unary64(_ unary64Op, _, _ []float64) bool      { return false }
func binary64(_ binary64Op, _, _, _ []float64) bool { return false }
