// Package gemm multiplies matrices of float32 or float64 held in plain slices.
//
// # API
//
//	type Args[T Float] struct{ ... }                                  // one product, or a batch of them
//	func ScratchSize[T Float](a *Args[T], workers int) int            // elements of scratch that Run needs
//	func Run[T Float](p *pool.Pool, a *Args[T], scratch []T)          // p may be nil: serial
//	func PackedSize[T Float](n, k int) int                            // elements of a packed B
//	func PackB[T Float](p *pool.Pool, dst, b []T, k, n, ldb int, trans bool)
//	func Layout[T Float]() tile.Layout                                // of a packed B; keep it with the panels
//
// Run computes, for each entry of the batch,
//
//	C[M, N] = relu?( op(A)[M, K] · op(B)[K, N] + bias?[N] + accumulate? C[M, N] )
//
// where op transposes if the flag says so. Matrices are row-major with a row stride. The caller provides scratch
// memory, whose contents are irrelevant before and after. Run allocates nothing. ScratchSize must be called with the
// pool's Size and the same Args, whose slices may be nil then. It is the same for every kernel family.
//
// RunHalf and HalfScratch, with HalfArgs, are the same for 16-bit floats; see half.go.
//
// # Result
//
// K and the kernel family determine the order of summation. Products are added one by one in blocks of at most
// [BlockK], and then the sums of the blocks one after the other. There are two exceptions: a product of a single row
// adds products in groups of eight, and few.go says how long sums of a few results are added. Within each of these
// kinds, the bits of an element depend neither on other values of M and N, nor on the position of the element, nor on
// whether B is packed, nor on whether the transpose is computed. In no kind do they depend on the number of workers.
// The forward error is at most K·ε·Σ|a·b| (ε = 2⁻²⁴ for float32), in practice far less.
//
// # Layout of a packed B
//
// A packed B consists of panels of micro.PanelWidth columns (32 for float32, 16 for float64), one after the other. A
// panel has K rows of that many consecutive numbers; the last panel is padded with zeros. All current tiles read that
// layout, which [Layout] names. Weights that many products use are packed once with PackB. Products with a plain B pack
// it themselves where that pays.
package gemm
