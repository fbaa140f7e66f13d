// Package block holds the elementwise kernels: one operation on a block of elements, for every element type, built from
// the routines of package vec. Elementwise steps, constant folding and all-reduces consist of such kernels, see [Func].
// Half precision is computed in float32: [Widen] and [Narrow] convert blocks, [Round] rounds a block in place.
package block
