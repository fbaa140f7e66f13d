// Package partition spreads a program for one device over several. It does what XLA's partitioner does for devices of
// its plugins, for backends whose compiler does not.
//
// [Program] rewrites a program so that each device of a mesh computes parts of its arrays, and inserts the collectives
// by which the devices exchange what others need. [Backend] runs such programs: it is a [kernels.Partitioner] over any
// backend. The layouts of the inputs say how arrays are divided; how each intermediate value is divided follows from
// its operands (rules.go). An operation that cannot work on parts gets whole arrays, so every program can be spread.
// The results are those of one device, up to the order of sums.
package partition
