// Package micro holds the micro-kernels of matrix products and convolutions.
//
// A [Tile] computes, for r in [0, Rows) and c in [0, Cols),
//
//	sum = Σ_o Σ_s Σ_k A[o·AOuter + s·ASegment + r·ARow + k·AK] · B[o·BOuter + s·BSegment + k·BK + c]
//	C[r·CRow + c] = relu?( sum + bias?[c] + accumulate? C[r·CRow + c] )
//
// with o in [0, Outer), s in [0, Segments), k in [0, K); all strides count elements. With Lines, it does so for each
// line l, with A and C shifted by l·ALine and l·CLine. The scalar operand A may have any strides. The vector operand B
// has unit stride along c and at most [PanelWidth] columns. That covers
//
//   - matrix products in every orientation: one segment;
//   - NHWC convolution: a segment is a kernel row, k runs over the S·C contiguous numbers under it; no im2col;
//   - its input gradient: the same on dY with flipped and transposed weights;
//   - its kernel gradient: r runs over input channels, k over output columns, s over output rows, o over images.
//
// [RunPooled] stores the maxima of 2x2 sums instead of the sums. [RunChannels] has a vector in place of the scalar
// operand, for depthwise convolution; [RunSlide] and [RunSlideSums] are faster for its common cases.
//
// Every sum adds its products one by one in the order o, s, k, wherever the element is in the tile. So an element's
// bits do not depend on how a matrix is cut into tiles. They do depend on the kernel family, because assembly uses
// fused multiply-add and portable Go may not.
//
// # B past the last column
//
// Assembly loads whole vectors of B: it reads up to [PadColumns] (Cols) numbers of each row and ignores the surplus,
// which must lie within cap(B). Zero-padded panels written by [PackPanel] always satisfy this. Otherwise, Run computes
// the columns of the last, incomplete vector in Go, which is correct but slow.
package micro
