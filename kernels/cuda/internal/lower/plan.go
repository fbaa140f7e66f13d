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
	Tickets // of the session: 32-bit numbers that are 0 when a kernel begins and when it ends
)

// Place is the location of a value.
type Place struct {
	Space   Space
	Index   int // of the input or output
	Offset  int64
	Strides []Stride
}

// Stride moves a place with each step of a loop.
type Stride struct {
	Loop  int
	Bytes int64
}

// ArgKind says what a kernel argument is.
type ArgKind uint8

// The kinds of arguments: the address of a place, the address of the queue's failure flag, the number that identifies
// the program in the flag, the replica's number, a tensor map.
const (
	Address ArgKind = iota
	Flag
	Number
	Replica
	TensorMap // of a matrix at a place; tensor maps come last
)

// Arg is a kernel argument.
type Arg struct {
	Kind  ArgKind
	Place Place
	Tiled Tiled
}

// Tiled describes a matrix of 16-bit elements, or a batch of them, and the box that kernels copy at once. Lists begin
// with the innermost axis.
type Tiled struct {
	BFloat16 bool
	Rank     int
	Lengths  [3]int
	Strides  [2]int // bytes from line to line, and from matrix to matrix
	Box      [3]int
}

// StepKind says what a step does.
type StepKind uint8

// The kinds of steps.
const (
	Launch   StepKind = iota
	Loop              // Body, Length times
	While             // repeats Head, then Body, as long as the byte at Predicate is not 0
	Collect           // a collective over Values
	Await             // waits for the collectives up to the one with this Number
	Multiply          // Before, then Product or Convolution by a library, then Head; Body if the library cannot do it
)

// Step is one action of a plan.
type Step struct {
	Kind   StepKind
	Kernel string
	Scope  string // path of the layer
	Op     ir.Op
	Grid   [3]int
	Block  int
	Shared int // bytes of dynamic shared memory
	Args   []Arg
	Name   string // names of the ops that the kernel computes
	Bytes  int64  // read and written, counting each value once
	FLOPs  int64  // of products
	Tensor bool   // uses tensor cores for 16-bit elements
	TF32   bool   // uses tensor cores for float32

	// Product is a product for cuBLASLt. Args are the operands, the result and the library's workspace.
	Product *Product
	// Convolution is a convolution for cuDNN. Args are x, w, y, the bias and the library's workspace.
	Convolution *Convolution
	Before      []Step

	Loop, Length int
	Reverse      bool
	Head, Body   []Step
	Predicate    Place

	Attrs  ir.CollectiveAttrs
	Values []Region // of a collective: the operands, then the results
	// Number, from 1, identifies a collective that runs concurrently with the kernels after it, until a step of kind
	// Await; 0 means that its results are needed at once.
	Number int
}

// Region is memory with a type.
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

	finite ir.CheckFiniteAttrs // of a CheckFinite, which reports the number of the element
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

// Plan is a program as kernels.
type Plan struct {
	Text       string // the module's text
	Steps      []Step
	ArenaBytes int64
	Peak       string // path of the layer during whose kernels the arena is largest
	Constants  []byte
	Checks     []Check
	Loops      int
	Nodes      int
	Launches   int // number of kernel launches, counting loops once
	Collects   int // number of collectives of several replicas, counting loops once
	Beside     int // how many of these run concurrently with kernels
	Tickets    int // number of tickets
	Products   int // number of products and convolutions by libraries, numbered from 0
	// Fixed says that all runs make the same launches, so that they can be captured.
	Fixed bool
}

// FlagBytes is the size of a failure flag: whether it is set, the program's number, the check's number, the index (64
// bits).
const FlagBytes = 24
