package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/choice"

// What products of certain sizes are computed by where estimates are in favour of it. Without them, tiles of rows and
// panels compute everything.
var (
	byColumns      = choice.New("gemm: few columns from transposed rows")
	byDeep         = choice.New("gemm: blocks of sums as chunks")
	byFew          = choice.New("gemm: few results of long sums")
	byFlat         = choice.New("gemm: chunks of columns")
	byFollow       = choice.New("gemm: B in the order of memory")
	byGram         = choice.New("gemm: half of a symmetric result")
	byLined        = choice.New("gemm: small products in one call")
	byNarrow       = choice.New("gemm: narrow results of long sums as transposes")
	byPackedA      = choice.New("gemm: blocks of A copied")
	byPackedB      = choice.New("gemm: B in panels")
	byPackedFew    = choice.New("gemm: panels of a transposed B for few rows")
	byRow          = choice.New("gemm: single rows")
	byStream       = choice.New("gemm: B streamed from memory")
	bySweeps       = choice.New("gemm: rows through all panels")
	byTall         = choice.New("gemm: sums over many rows")
	byTransposed   = choice.New("gemm: transposes of products with a transposed B")
	byVectors      = choice.New("gemm: batches of vectors as transposes")
	byHalfColumns  = choice.New("gemm: few columns of 16 bits as transposes")
	byHalfPacks    = choice.New("gemm: transposes of 16 bits that pack less")
	byHalfTurns    = choice.New("gemm: transposes of 16 bits that turn less")
	byHalfWide     = choice.New("gemm: panels of 16 bits widened once")
	byHalfRounding = choice.New("gemm: tiles that round to 16 bits")
	byHalfRow      = choice.New("gemm: single rows of 16 bits")
)
