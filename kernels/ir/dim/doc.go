// Package dim computes with the lengths of axes, which are constants or expressions over named sizes that are known
// only later.
//
// A length is an int, because shapes are []int. A constant is represented by itself. An expression (batch, 3*time+1,
// floor((time-3)/2)+1) is a handle: a negative int far from any real length, looked up in a table. [Symbol] names a
// size, and [Add], [Sub], [Mul], [FloorDiv], [CeilDiv], [Max] and [Min] combine lengths of both kinds, so that one rule
// serves constants and expressions alike:
//
//	out := dim.Add(dim.FloorDiv(dim.Sub(in, window), stride), 1)
//
// Expressions are kept in a normal form: a polynomial over sizes, quotients and maxima, whose handle is a hash of its
// text. Two lengths that have the same normal form are the same int in all goroutines, and == compares them. (The
// converse is not decided: two expressions may be equal for all sizes and still differ in form.)
//
// Arithmetic with + - * / on a handle gives an int that is not a handle. [Check] detects this, and every operation of a
// program checks the shapes of its operands and results. So forgetting this package is an error that names the
// operation, not a wrong shape. Code that needs a number (to loop, to allocate) asks [Known] first; because handles are
// negative, a loop up to one ends at once and memory of that length is refused, so code that does not ask fails instead
// of hanging.
//
// The table is shared by the process and never shrinks, but grows only with expressions of a form not met before: a
// model traced twice adds nothing. It holds at most [Limit] of them; beyond that, results are invalid and Check says
// so.
package dim
