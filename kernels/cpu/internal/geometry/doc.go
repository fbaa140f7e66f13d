// Package geometry is what shapes come to in memory: which axes of a product's operands can be walked as one
// ([ProductLayout]), what the windows of a pooling cover ([Pooling]), and in which runs a reduction goes over its axes
// ([AxisGroups]).
package geometry
