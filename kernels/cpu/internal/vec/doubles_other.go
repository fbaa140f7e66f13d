//go:build !amd64 && !arm64

package vec

import (
	"math"
	"unsafe"
)

// Chain64 is [Chain] of floats of 64 bits.
func Chain64(steps []ChainStep, n int) { panic("vec: no chains on this platform") }

func double2(_ ChainOp, _, _, _ unsafe.Pointer, _ int) int        { return 0 }
func bytes64(_ ChainOp, _ []uint8, _, _ []float64) int            { return 0 }
func choose64(_ []uint64, _ []uint8, _, _ []uint64) int           { return 0 }
func expAffine64(_ *[8]float64, _, _ []float64, _ [3]float64) int { return 0 }
func lanes64(_ *[8]float64, _ []float64) int                      { return 0 }
func products64(_ *[8]float64, _, _ []float64) int                { return 0 }

func extreme64(largest bool, _ []float64) (float64, int) {
	if largest {
		return math.Inf(-1), 0
	}
	return math.Inf(1), 0
}

func adam64(_, _, _, _ []float64, _ [6]float64) int          { return 0 }
func momentum64(_, _, _ []float64, _ [3]float64, _ bool) int { return 0 }

func unary64(_ unary64Op, _, _ []float64) bool      { return false }
func binary64(_ binary64Op, _, _, _ []float64) bool { return false }
