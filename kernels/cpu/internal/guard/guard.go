// Package guard puts the operands of tests beside memory that cannot be read or written: kernels that touch what is not
// theirs end the test.
package guard
