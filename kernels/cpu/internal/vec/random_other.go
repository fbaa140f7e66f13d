//go:build !amd64 && !arm64

package vec

func drop32(_, _ []float32, _ []uint32, _ float32, _ uint32) int { return 0 }
func randomWords32(_ []uint32, _ [4]uint32, _ [2]uint32) int     { return 0 }
