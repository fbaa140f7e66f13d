// Package conv computes convolutions and their gradients on plain slices: 1, 2 or 3 spatial axes, float32 or float64.
//
// # API
//
//	type Shape struct{ ... }                                           // sizes; the same value describes all three operations
//	func (s *Shape) Validate() error
//	func (s *Shape) Out() [3]int                                       // output sizes along depth, height, width
//	func (s *Shape) Remember()                                         // decide once how to compute it, for many runs
//	func (s *Shape) FLOPs() int                                        // 2 x multiplications of one of the operations, padding included
//
//	func ForwardScratch[T Float](s *Shape, workers int) int
//	func Forward[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T)
//	func KernelMatrix[T Float](s *Shape) (rows, columns int, packs bool) // as which package gemm may pack the kernel, once for many calls of
//	func ForwardPacked[T Float](p *pool.Pool, s *Shape, x, panels, bias []T, relu bool, y, scratch []T)
//	type Plan[T Float] struct{ ... }                                   // one shape on one goroutine, with little overhead
//	type Winograd[T Float] struct{ ... }                               // Forward with fewer products, rounded differently
//	type Moments[T Float] struct{ ... }                                // Forward that also computes the moments of channels
//	func BackwardDataScratch[T Float](s *Shape, workers int) int
//	func BackwardData[T Float](p *pool.Pool, s *Shape, dy, kernel, dx, scratch []T)
//	func TransposedScratch[T Float](s *Shape, workers int, bias bool) int
//	func Transposed[T Float](p *pool.Pool, s *Shape, dy, kernel, bias []T, relu bool, dx, scratch []T)
//	func BackwardWeightsScratch[T Float](s *Shape, workers int) int
//	func BackwardWeights[T Float](p *pool.Pool, s *Shape, x, dy, dkernel, scratch []T)
//
// Arrays have Keras's layout, without gaps: x is [batch, (depth, (height,)) width, inChannels], kernel is [(kd, (kh,))
// kw, inChannels/groups, outChannels], y is [batch, ..., outChannels]. One spatial axis is width, two are height and
// width; the unused leading axes have size 1. With one group per input channel the kernel is Keras's depthwise kernel
// [kh, kw, channels, multiplier], since the output channel is channel·multiplier + m.
//
//	y[n, o, c] = relu?( bias?[c] + Σ_t Σ_i x[n, o·stride − padLow + t·dilation, g·inGroup + i] · kernel[t, i, c] ),   g = c / outGroup
//
// where o and t run over all spatial axes and x is 0 outside its bounds. BackwardData computes the gradient with
// respect to x, and so the transposed convolution; BackwardWeights computes the one with respect to the kernel. All
// three overwrite their result. The gradient of the bias is a sum over all but the last axis of dy: vec.SumRows.
//
// The caller provides scratch memory, whose contents are irrelevant. Functions that return its size expect the pool's
// Size as the number of workers. Nothing is allocated in steady state.
//
// # How
//
// The outputs along each axis fall into spans whose outputs see the same taps: one long span and, at padded ends, short
// ones. Within a span every output is the same strided sum, which the micro-kernel of package micro computes in place,
// so taps that meet padding cost nothing. The kernel is packed into panels where that pays. Long rows are cut into
// pieces, so that neighbouring tiles find lines of the input in the first-level cache. There is no im2col except for
// small volumes and some groups. The input is not padded by copying except for [Plan.RunPooled], for sequences and
// small images whose edges cost much (padded.go, frames.go) and for some kernel gradients.
//
// Gradients:
//
//   - The input gradient is the same computation on dy with the kernel flipped and transposed, once for each residue of
//     the input position modulo the stride (phases.go). With few input channels, long windows and long strides, it is one
//     matrix product instead, whose rows are windows that are added one after the other; so it is for small images and
//     volumes with strides, if their many phases have few outputs (overlapped.go).
//   - With one to a few input channels, as at the end of a generator of images, it is a matrix product whose rows are taps,
//     and whose columns are pixels (tap_rows.go). Convolutions to few channels without strides are computed so, too.
//   - The kernel gradient has input channels as the rows of a tile. It sums over output positions and blocks of images,
//     whose partial results are added in order. Where pixels are not whole vectors, it copies a few rows of both operands
//     first (gradient_copies.go); with strides and many channels, blocks of both (gradient_blocks.go). If images are small, one call sums over several (gradient_images.go).
//   - In matrix registers, kernel gradients sum over pixels that lie side by side (turned.go) or over images, which are
//     stacked first (stacked.go). Where rows fill less of a tile than images do, several images share a call.
//
// Depthwise convolutions:
//
//   - With 3, 5 or 7 taps and a stride of at most 2 along the width, rows are computed one by one, through all channels.
//     Such kernels would wait for loads, not for multiplications, so they load an input once for all taps that meet it
//     ([micro.Slide]). The kernel gradient does so for 3 taps.
//   - With few channels and short rows, the images of a batch are computed side by side: transposed, they are more
//     channels (abreast.go).
//   - Windows of other sizes that are multiples of 2, 3, 5 or 7, and dilated windows, are cut into parts of 2, 3, 5 or 7
//     taps. The inputs of the outputs at the ends of rows are copied with zeros around them (slide_copies.go).
//
// Windows that cover an axis, and small images:
//
//   - Innermost axes that the window covers become channels. If the window covers the whole image, the operations are
//     matrix products (covered.go).
//   - Convolutions to volumes of few pixels are mostly edges. Unless the products with zeros are too many, they are
//     unfolded into one matrix product: the inputs of each output are copied, with zeros outside (unfold.go). In other
//     short rows, except those of images, the taps along the width are added one after the other (by_taps.go).
//   - Where most outputs of an image, or of its input gradient, are edges that see different taps, images are copied with
//     zeros around them, so that all outputs see all taps (frames.go).
//   - Where few outputs of an image see the same taps, the rows of a tile are the same output of several images
//     (join.go).
//
// Groups. All of these prefetch the rows of a block before they compute it, because they move through memory in steps
// as long as a pixel:
//
//   - Groups of 2, 4 or 8 channels, with as many outputs as inputs, would use few lanes of a tile. They use vectors that
//     hold several groups ([micro.Grouped]).
//   - Other groups of a few inputs are copied apart from each other, so that the taps of a row are one sum, where the
//     copies cost less than they save (apart.go).
//   - Groups are copied out of some images, one group after the other, and computed as convolutions of their own, in
//     these cases: a few groups of one input with many outputs, gradients of groups with long windows, and volumes and
//     dilated convolutions in groups (split.go). Some copies put the inputs of each output of a row side by side
//     (unfold_groups.go).
//   - Groups of few outputs without stride along the width compute the products of all taps of a row at once, as columns,
//     and add them afterwards (spread.go). If a group has inputs for a whole vector, its kernel gradient is computed
//     as its transpose (few.go).
//   - Groups of several inputs with one or two outputs become depthwise convolutions with more depth (planes.go): their
//     kernel gradients, and other operations that were measured to gain from it.
//
// Fused with what follows:
//
//   - In [Plan.RunPooled], the micro-kernel takes the maxima of 2x2 outputs while they are in registers, so the unpooled
//     result is never in memory. An image with padding is first copied with zeros around it, so that all outputs see all
//     taps.
//   - [Moments] are computed for each block of rows while it is in the cache, for the batch normalization that follows.
//     Blocks depend on the shape alone, and their moments are combined in order.
//
// The order of every summation depends on the shape alone, never on the number of workers.
package conv
