// Package tile describes the register tiles from which products are made: the types of numbers they multiply and
// accumulate, the processor features they need, and the layout of the packed panels they read. The packages with the
// assembly, micro and quant, each have a table, from which [Best] chooses.
package tile

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Element is a type of numbers.
type Element uint8

// The elements.
const (
	Float32 Element = iota + 1
	Float64
	Int8
	Int32
	BFloat16
)

var elementNames = [...]string{"none", "float32", "float64", "int8", "int32", "bfloat16"}

func (e Element) String() string {
	if int(e) < len(elementNames) {
		return elementNames[e]
	}
	return fmt.Sprintf("Element(%d)", uint8(e))
}

// Kind says what a tile computes: products of two numbers of type In, added up in type Acc.
type Kind struct{ In, Acc Element }

func (k Kind) String() string { return fmt.Sprintf("{%v, %v}", k.In, k.Acc) }

// Layout names the order of the numbers in packed panels. What a name stands for never changes: another order, or
// another way to round, is another name. So panels that are kept with their layout are never taken for those of another
// one.
type Layout uint8

// The layouts. A panel is a number of columns of the matrix, for all k.
const (
	RowMajor         Layout = iota // not in panels
	Float32x32                     // for each k, the numbers of 32 columns
	Float64x16                     // for each k, the numbers of 16 columns
	Int8x64                        // for each four k, of each of 64 columns the four numbers plus 128
	Int4x64                        // see PackNibbles of package quant; for one size of blocks
	Bits16x32                      // for each k, the numbers of 16 bits of 32 columns
	BFloat16x32                    // for each two k, of each of 32 columns the two numbers
	Turned                         // the transposed matrix, row-major; zero points as int8, minus 8 or 128
	Uint8x64                       // see PackBytes of package quant; for one size of blocks
	BFloat16Pairs                  // the rows 2i and 2i+1 interleaved
	BFloat16x32Whole               // BFloat16x32 with zeros up to a multiple of 16 pairs, whole steps of matrix registers
)

var layoutNames = [...]string{"row-major", "float32 x 32", "float64 x 16", "int8 x 64", "int4 x 64", "16 bits x 32", "bfloat16 x 32", "turned", "uint8 x 64", "pairs of bfloat16", "bfloat16 x 32, whole"}

func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Tile is a row of a table.
type Tile struct {
	Kind
	Needs  isa.Features
	Layout Layout
	Lanes  int // numbers of a vector of B; 1 in plain Go

	// Family tells the functions of the package's own tiles apart.
	Family int
}

// Best returns the first tile of the table that computes products of a kind with the features in force. A table has the
// best tiles first, and one that needs nothing for each kind.
func Best(table []Tile, k Kind) *Tile {
	have := isa.Active()
	for i := range table {
		t := &table[i]
		if t.Kind == k && have.Has(t.Needs) && (!t.Needs.Has(isa.AMXTile) || isa.MatrixRegisters()) {
			return t
		}
	}
	panic(fmt.Sprintf("tile: no tile for %v with %v", k, have))
}
