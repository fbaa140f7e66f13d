//go:build !amd64 && !arm64

package vec

import "unsafe"

// Without assembly, every kernel declines, and the Go loops beside the calls run.

func productVectors(_, _, _ unsafe.Pointer, _, _, _, _, _, _, _ int) bool { return false }

func binary32(binaryOp, []float32, []float32, []float32) bool        { return false }
func unary32(unaryOp, []float32, []float32) bool                     { return false }
func affine32(scalarOp, []float32, []float32, float32, float32) bool { return false }
func mulAdd32(_, _, _, _ []float32) bool                             { return false }
func sum32([]float32) (float32, bool)                                { return 0, false }
func dot32(_, _ []float32) (float32, bool)                           { return 0, false }
func max32([]float32) (float32, bool)                                { return 0, false }
func min32([]float32) (float32, bool)                                { return 0, false }
func expAffine32(_, _ []float32, _ [3]float32) (float32, bool)       { return 0, false }
func affineMul32(_, _, _ []float32, _ [2]float32) bool               { return false }
func placedRows32[P rowNumber](rowWork, []float32, []float32, int, []P, float32, bool) bool {
	return false
}
func descendRowsAt32(_, _ []float32, _ [][2]int, _ int, _ float32) int                     { return 0 }
func lstmCell32(_, _, _, _, _ []float32) int                                               { return 0 }
func lstmCellGrad32(_, _, _, _, _, _ []float32) int                                        { return 0 }
func gruCell32(_, _, _, _, _ []float32) int                                                { return 0 }
func gruCellGrad32(_, _, _, _, _, _, _ []float32) int                                      { return 0 }
func adam32(_, _, _, _ []float32, _ [6]float32) bool                                       { return false }
func momentum32(_, _, _ []float32, _ [3]float32, _ bool) bool                              { return false }
func ruleAdagrad32(_, _, _ []float32, _ [2]float32) int                                    { return 0 }
func ruleAdam32(_, _, _, _ []float32, _ [4]float32) int                                    { return 0 }
func ruleMomentum32(_, _, _ []float32, _ [2]float32, _ bool) int                           { return 0 }
func ruleRMSprop32(_, _, _, _, _ []float32, _ [5]float32) int                              { return 0 }
func ruleFTRL32(_, _, _, _ []float32, _ [5]float32) int                                    { return 0 }
func widen32(halfKind, []float32, []uint16) bool                                           { return false }
func narrow32(halfKind, []uint16, []float32) bool                                          { return false }
func winogradInput32(_, _ []float32, _, _, _, _, _ int) bool                               { return false }
func winogradGradient32(_, _ []float32, _, _, _, _, _, _ int) bool                         { return false }
func winogradOutput32(_, _, _ []float32, _ bool, _, _, _, _, _ int) bool                   { return false }
func winogradSixes32(_, _ []float32, _, _, _, _, _, _ int) bool                            { return false }
func winogradFours32(_, _, _ []float32, _ bool, _, _, _, _, _, _ int) bool                 { return false }
func lstmCellGrad64(_, _, _, _, _, _ []float64) int                                        { return 0 }
func gruCellGrad64(_, _, _, _, _, _, _ []float64) int                                      { return 0 }
func addRows(_ int, _, _ unsafe.Pointer, _, _, _ int) int                                  { return 0 }
func foldRows32(_ rowFold, _, _ []float32, _, _ int) int                                   { return 0 }
func addRowsAt(_ int, _, _ unsafe.Pointer, _ [][2]int, _ int) int                          { return 0 }
func momentRows32(_, _, _, _ []float32, _, _, _ int) int                                   { return 0 }
func productRows32(_, _, _, _, _, _, _ []float32, _, _ int) int                            { return 0 }
func affineRows32(_, _, _, _, _ []float32, _ int, _ bool) bool                             { return false }
func combineRows32(_, _, _, _, _, _, _, _ []float32, _, _ int) bool                        { return false }
func momentRows64(_, _, _, _ []float64, _, _, _ int) int                                   { return 0 }
func productRows64(_, _, _, _, _, _, _ []float64, _, _ int) int                            { return 0 }
func affineRows64(_, _, _, _, _ []float64, _ int, _ bool) bool                             { return false }
func combineRows64(_, _, _, _, _, _, _, _ []float64, _, _ int) bool                        { return false }
func maxPoolRow(_ int, _, _, _ unsafe.Pointer, _, _ int) int                               { return 0 }
func maxPoolRowGrad(_ int, _, _, _, _, _, _ unsafe.Pointer, _, _ int, _ bool) int          { return 0 }
func windowsMax(_ int, _, _ unsafe.Pointer, _ []int, _, _, _, _ int) int                   { return 0 }
func windowsSum(_ int, _, _ unsafe.Pointer, _ []int, _, _, _, _ int, _ unsafe.Pointer) int { return 0 }
func windowsFirst(_, _, _ unsafe.Pointer, _ []int, _, _, _, _ int) int                     { return 0 }
func windowsShare(_, _, _, _ unsafe.Pointer, _ []int, _, _ int) int                        { return 0 }
func pixelsMax(_ int, _, _ unsafe.Pointer, _, _, _, _ int) bool                            { return false }
func pixelsAdd(_ int, _, _ unsafe.Pointer, _, _, _, _ int) int                             { return 0 }
func pixelsClaim(_ int, _, _, _, _ unsafe.Pointer, _, _, _, _ int) bool                    { return false }
func layerNorm64(_, _, _, _, _, _ []float64, _ float64) bool                               { return false }
func layerNormGrad64(_, _, _, _, _, _, _, _ []float64) bool                                { return false }
func layerNorm32(_, _, _, _, _, _ []float32, _ float64) bool                               { return false }
func layerNormGrad32(_, _, _, _, _, _, _, _ []float32) bool                                { return false }
func logSumLines32(_, _ []float32, _ int) bool                                             { return false }
func logSoftmaxLines32(_, _ []float32, _ int) bool                                         { return false }
func logSoftmaxLinesGrad32(_, _, _ []float32, _ int) bool                                  { return false }
func softmaxLines32(_, _ []float32, _ int) bool                                            { return false }
func softmaxLinesGrad32(_, _, _ []float32, _ int) bool                                     { return false }
func within32([]float32, float32) bool                                                     { return false }
func quotients32(_, _ []float32, _ float32) bool                                           { return false }
func vectorized() bool                                                                     { return false }
func outerVectors(_, _, _ unsafe.Pointer, _, _, _, _, _ int) bool                          { return false }
func butterflyVectors(_, _ runsAt, _ unsafe.Pointer, _, _, _, _ int) bool                  { return false }
func turnRowVectors(_, _, _, _, _, _, _ unsafe.Pointer, _, _, _, _, _, _ int) bool         { return false }
func chainVectors(_, _ unsafe.Pointer, _, _, _, _ int) bool                                { return false }
func dotRowVectors(_, _, _ unsafe.Pointer, _, _, _, _ int) bool                            { return false }
func splitRealVectors(_, _, _ unsafe.Pointer, _, _, _ int) bool                            { return false }
func joinRealVectors(_, _, _ unsafe.Pointer, _, _, _ int) bool                             { return false }

func compareWords[T any](compareOp, []uint8, []T, []T) bool        { return false }
func test32(testOp, []uint8, []float32) bool                       { return false }
func choose32(_ []uint32, _ []uint8, _, _ []uint32) bool           { return false }
func fromBytes32([]float32, []uint8) bool                          { return false }
func integers32(_ integerOp, _, _, _ []int32) bool                 { return false }
func convert32[T, F any](_ integerConversionOp, _ []T, _ []F) bool { return false }

func fillRows32(_ []uint32, _ unsafe.Pointer, _, _, _ int) bool { return false }
func copyRows(_, _ unsafe.Pointer, _, _, _, _ int) bool         { return false }
func hitsCount(_, _, _ []float32, _, _ int) int                 { return 0 }
func hitsShare(_, _, _, _ []float32, _, _ int) bool             { return false }

func lineSums([]float32, []float32, []float32, int) int { return 0 }
