// Package block holds the elementwise kernels: one operation on a block of elements, for every element type, over the
// routines of package vec. A [Func] is what elementwise steps, folding of constants and all-reduces are made of. Half
// precision is computed in float32: [Widen] and [Narrow] convert blocks, [Round] rounds one where it is.
package block
