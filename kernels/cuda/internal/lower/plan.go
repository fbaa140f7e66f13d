package lower

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Space says what an address is relative to.
type Space uint8

// The spaces: nowhere, buffers of the launch, memory of the session, constants of the program.
const (
	Nowhere Space = iota
	Input
	Output
	Arena
	Constants
	Tickets // of the session: numbers of 32 bits that are 0 when a kernel begins, and when it ends
)

// Place is where a value lies.
type Place struct {
	Space   Space
	Index   int // of the input or output
	Offset  int64
	Strides []Stride
}

// Stride moves a place with the step of a loop.
type Stride struct {
	Loop  int
	Bytes int64
}

// ArgKind says what an argument of a kernel is.
type ArgKind uint8

// The kinds of arguments: the address of a place, the address of the queue's failure flag, the number that tells the
// program apart in it, the number of the replica, the description of a matrix.
const (
	Address ArgKind = iota
	Flag
	Number
	Replica
	TensorMap // of a matrix at a place; such arguments come last
)

// Arg is an argument of a kernel.
type Arg struct {
	Kind  ArgKind
	Place Place
	Tiled Tiled
}

// Tiled is a matrix of 16-bit elements, or a batch of them, and the part that kernels copy at once. Lists begin with
// the axis that is fastest in memory.
type Tiled struct {
	BFloat16 bool
	Rank     int
	Lengths  [3]int
	Strides  [2]int // bytes from line to line, and from matrix to matrix
	Box      [3]int
}

// StepKind says what a step is.
type StepKind uint8

// The kinds of steps.
const (
	Launch   StepKind = iota
	Loop              // Body, Length times
	While             // Head, then Body where the byte at Predicate is not 0, and again
	Collect           // a collective over Values
	Await             // for the collectives until that of this Number
	Multiply          // Before, Product or Convolution by a library, then Head; Body where that is not possible
)

// Step is one action of a plan.
type Step struct {
	Kind   StepKind
	Kernel string
	Scope  string // path of the layer
	Op     ir.Op
	Grid   [3]int
	Block  int
	Shared int // bytes of shared memory that the launch gives
	Args   []Arg
	Name   string // of the ops that the kernel computes
	Bytes  int64  // that it reads and writes, each value counted once
	FLOPs  int64  // of products
	Tensor bool   // by tensor cores, of elements of 16 bits
	TF32   bool   // by tensor cores, of float32

	// Product is what cuBLASLt multiplies: Args are the operands, the result and the library's own memory.
	Product *Product
	// Convolution is what cuDNN makes: Args are x, w, y, the bias, and the library's own memory.
	Convolution *Convolution
	Before      []Step

	Loop, Length int
	Reverse      bool
	Head, Body   []Step
	Predicate    Place

	Attrs  ir.CollectiveAttrs
	Values []Region // of a collective: the operands, then the results
	// Number counts the collectives that go on beside the kernels after them, from 1, until a step of kind Await; 0 is
	// one whose results are needed at once.
	Number int
}

// Region is memory of a type.
type Region struct {
	Type  ir.Type
	Place Place
}

// Check is a point in the program that checks indices, or whether numbers are finite.
type Check struct {
	Scope  string
	Op     ir.Op
	Axis   int
	Length int

	finite ir.CheckFiniteAttrs // of a CheckFinite, which tells the number of the element
	shape  ir.Shape            // of its operand
}

// Error describes the failure of the check for the given index.
func (c Check) Error(index int64) error {
	if c.Op == ir.CheckFinite {
		return c.finite.Failure(c.Scope, c.shape, int(index))
	}
	if c.Op == ir.SparseSoftmaxCrossEntropy {
		return fmt.Errorf("%s: label %d is none of the model's %d classes; labels are 0 to %d", c.Scope, index, c.Length, c.Length-1)
	}
	return fmt.Errorf("%s: %v: index %d is outside axis %d of length %d; valid indices are 0 to %d", c.Scope, c.Op, index, c.Axis, c.Length, c.Length-1)
}

// Plan is a program in kernels.
type Plan struct {
	Text       string // of the module
	Steps      []Step
	ArenaBytes int64
	Peak       string // path of the layer whose kernels find the arena at its largest
	Constants  []byte
	Checks     []Check
	Loops      int
	Nodes      int
	Launches   int // steps that launch kernels, loops counted once
	Collects   int // collectives of several replicas, loops counted once
	Beside     int // of these, those that go on beside kernels
	Tickets    int // how many there are
	Products   int // and convolutions that libraries make, numbered from 0
	// Fixed says that all runs do the same launches, so that they can be captured.
	Fixed bool
}

// FlagBytes is the size of a failure flag: set or not, the program's number, the number of the check, the index (64
// bits).
const FlagBytes = 24
