package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/choice"

// Ways to compute an operation that estimates of time choose, besides those of packages conv and gemm.
var (
	byAxesPooled      = choice.New("cpu: pooling axis by axis")
	byImageTiles      = choice.New("cpu: pooling several images side by side")
	byCholeskyLanes   = choice.New("cpu: Cholesky side by side")
	byTriangleLanes   = choice.New("cpu: triangles side by side")
	byTallReflections = choice.New("cpu: reflections of stored columns")
	byTallColumn      = choice.New("cpu: sums of few products over many rows")
	byTallDot         = choice.New("cpu: sums over many rows")
	byTurnedRows      = choice.New("cpu: short lines reduced in columns")
	byTurnedLines     = choice.New("cpu: interleaved lines reduced in columns")
	byTurnedPlaces    = choice.New("cpu: places of extremes in columns")
	bySliding         = choice.New("cpu: extremes of short lines by sliding")
	byRulesAVX2       = choice.New("cpu: rules for AVX2")
	byShortRows       = choice.New("cpu: softmax and norms of short rows in columns")
	byStrips          = choice.New("cpu: softmax along an axis in strips of columns")
	byInterleaving    = choice.New("cpu: repeated elements interleaved")
	byWinogradHalves  = choice.New("cpu: Winograd in float32 for 16 bits")
)
