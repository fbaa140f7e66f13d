//go:build !amd64

package vec

func pairsRows() bool { return false }

func pairRows(_ []uint32, _ []uint16, _, _, _, _ int) int { return 0 }

func (h Half) roundPairs(_ []uint32, _ []uint16, _ []float32, _, _, _, _, _ int) int { return 0 }

func (h Half) roundAdd(_ []uint16, _, _ []float32, _ bool) bool { return false }

func (h Half) roundAddRows(_ []uint16, _, _ []float32, _, _, _, _ int, _ bool) int { return 0 }

func (h Half) subtractRows(_, _ []float32, _ float32, _, _, _, _ int) int { return 0 }
