// Package geometry translates shapes to memory layouts: which axes of a product's operands can be walked as one
// ([ProductLayout]), what the windows of a pooling cover ([Pooling]), and in which runs a reduction visits its axes
// ([AxisGroups]).
package geometry
