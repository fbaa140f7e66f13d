// Package guard places the operands of tests next to memory that cannot be read or written, so that a kernel that goes
// out of bounds ends the test.
package guard
