// Package gemm multiplies matrices of float32 or float64 held in plain slices.
//
// # API
//
//	type Args[T Float] struct{ ... }                                  // one product, or a batch of them
//	func ScratchSize[T Float](a *Args[T], workers int) int            // elements of scratch that Run needs
//	func Run[T Float](p *pool.Pool, a *Args[T], scratch []T)          // p may be nil: serial
//	func PackedSize[T Float](n, k int) int                            // elements of a packed B
//	func PackB[T Float](p *pool.Pool, dst, b []T, k, n, ldb int, trans bool)
//	func Layout[T Float]() tile.Layout                                // of a packed B, which is to be kept with it
//
// Run computes, for each entry of the batch,
//
//	C[M, N] = relu?( op(A)[M, K] · op(B)[K, N] + bias?[N] + accumulate? C[M, N] )
//
// where op transposes if the flag says so. Matrices are row-major with a row stride. Scratch comes from the caller, its
// contents are irrelevant before and after, and Run allocates nothing. ScratchSize must be called with the pool's Size
// and the same Args (the slices may be nil then). It is the same for every kernel family.
//
// RunHalf and HalfScratch, with HalfArgs, are the same for 16-bit floats; see half.go.
//
// # Result
//
// The order of summation for an element is fixed by K and the kernel family: products are added one by one in blocks of
// at most [BlockK], and the blocks' sums one after the other; with a single row, in groups of eight; long sums of a few
// results, in the order that few.go says. Within these kinds, neither the number of workers, other values of M, N, the
// position of the element, nor whether B is packed changes its bits, and in none does the number of workers; nor does
// it matter that some products are computed as their transposes. The forward error is at most K·ε·Σ|a·b| (ε = 2⁻²⁴ for
// float32), in practice far less.
//
// # Layout of a packed B
//
// Panels of micro.PanelWidth columns (32 for float32, 16 for float64), one after the other; a panel holds K rows of
// that many consecutive numbers, and the last panel is padded with zeros. All tiles of today read that layout, which
// [Layout] names. Weights that many products use are packed once with PackB; products with a plain B pack it themselves
// where that pays off.
package gemm
