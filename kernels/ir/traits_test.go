package ir

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every op has a row, and what it says fits what else is known of the op.
func TestTraitsOfEveryOp(t *testing.T) {
	for _, op := range Ops() {
		row := op.Traits()
		assert.NotNil(t, row.rows, "%v has no row in the table of traits", op)
		most := opTable[op].max
		for j, operand := range row.InPlace {
			assert.True(t, operand >= -1 && (most < 0 || operand < most), "%v: result %d takes over operand %d", op, j, operand)
			assert.Equal(t, operand, op.InPlaceOperand(j))
		}
		assert.Equal(t, -1, Dropout.InPlaceOperand(len(Dropout.Traits().InPlace)))
		if op.IsElementwise() {
			assert.False(t, row.MayFail || row.Moves || row.Random, "%v is elementwise", op)
		}
		if op.IsCollective() {
			assert.True(t, row.MayFail, "%v meets other replicas", op)
		}
		if row.Cheap {
			assert.True(t, op.IsElementwise(), "%v is computed again element by element", op)
		}
	}
	require.Equal(t, 3, AllReduce.InPlaceOperand(3))
	require.Equal(t, Traits{}.Moves, opCount.Traits().Moves)
}

func TestFLOPs(t *testing.T) {
	p := New("flops")
	add := func(op Op, attrs Attrs, in ...Value) Value {
		out, err := p.Add("", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	x := p.AddInput("x", Type{Float32, Shape{2, 3}})
	y := p.AddInput("y", Type{Float32, Shape{3, 5}})
	add(Dot, DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, y)
	add(Exp, nil, x)
	require.EqualValues(t, 2*2*5*3, p.FLOPs(&p.Nodes[0]))
	require.Zero(t, p.FLOPs(&p.Nodes[1]))
}

func ExampleTraits() {
	fmt.Println(Gather.Traits().MayFail, Reshape.Traits().Moves, Mul.Traits().Cheap, Dropout.Traits().Random, LstmCell.InPlaceOperand(1))
	// Output: true true true true 1
}
