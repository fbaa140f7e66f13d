// Package geometry translates shapes to memory layouts: which axes of a product's operands can be stepped through as
// one ([ProductLayout]), what the windows of a pooling cover ([Pooling]), and in which groups a reduction combines its
// axes ([AxisGroups]).
package geometry
