package keras

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// lendingBuffer is a buffer of a device that lends memory. It counts the memory that is lent.
type lendingBuffer struct {
	kernels.Buffer
	bytes int
	out   int
	poor  bool  // there is no memory
	fails error // the error of writing
	got   []byte
}

type lentMemory struct {
	of  *lendingBuffer
	raw []byte
}

func (m *lentMemory) Bytes() []byte { return m.raw }
func (m *lentMemory) Drop()         { m.of.out-- }

func (b *lendingBuffer) Stage() kernels.Staged {
	if b.poor {
		return nil
	}
	b.out++
	return &lentMemory{b, make([]byte, b.bytes)}
}

func (b *lendingBuffer) WriteStaged(s kernels.Staged) error {
	b.out--
	b.got = append([]byte{}, s.Bytes()...)
	for i := range s.Bytes() {
		s.Bytes()[i] = 0xAA // soon the next batch is here
	}
	return b.fails
}

// placing is a batch of three examples, with float32 inputs and float64 targets, and the device that it goes to.
func placing() (a *ahead, b *data.Batch, x, y *lendingBuffer, s *staging) {
	x, y = &lendingBuffer{bytes: 24}, &lendingBuffer{bytes: 12}
	b = &data.Batch{X: data.List(data.Must(data.ArrayOf([]float32{1, 2, 3, 4, 5, 6}, 3, 2))), Y: data.List(data.Must(data.ArrayOf([]float64{7, 8, 9}, 3)))}
	s = &staging{
		columns: []stagedColumn{
			{column: column{host: ir.Float32, shape: []int{2}, types: ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}, row: 8}},
			{column: column{host: ir.Float64, shape: []int{}, types: ir.Type{DType: ir.Float32}, row: 8}, kind: 1},
		},
		inputs: [][]kernels.Stager{{x, y}}, sizes: []int{3}, rows: 3,
	}
	s.whole = s.isWhole()
	a = &ahead{lends: true}
	a.stageFor(s)
	return a, b, x, y, s
}

// A batch is in the memory of its device from before it is filled until it is sent or dropped; otherwise it is in its
// own memory.
func TestBatchesLieInStagedMemory(t *testing.T) {
	fill := func(b *data.Batch) {
		copy(b.X.Single().Elements().([]float32), []float32{10, 20, 30, 40, 50, 60})
		b.Y.Single().Elements().([]float64)[2] = 90
	}
	a, b, x, y, s := placing()
	own := b.X.Arrays[0].Data
	lies := func(where []byte) bool { return &b.X.Arrays[0].Data[0] == &where[0] }
	a.place(b)
	require.False(t, lies(own))
	require.Equal(t, [2]int{1, 1}, [2]int{x.out, y.out})
	fill(b)
	a.prepare(b)
	p := a.of(b)
	require.Same(t, s, p.to)
	require.NoError(t, p.send())
	require.True(t, lies(own), "it has its own memory again")
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, b.X.Single().Elements())
	require.Equal(t, bytesOfFloats([]float32{10, 20, 30, 40, 50, 60}), x.got)
	require.Equal(t, bytesOfFloats([]float32{7, 8, 90}), y.got)
	require.Zero(t, x.out+y.out)

	a.place(b) // nobody takes it
	fill(b)
	a.prepare(b)
	a.place(b)
	require.Equal(t, [2]int{1, 1}, [2]int{x.out, y.out}, "what nobody took is given back")
	a.close()
	require.Nil(t, a.of(b), "nothing keeps the batches of a pass that is over")
	require.True(t, lies(own))
	require.Zero(t, x.out+y.out)

	a.place(b)
	fill(b)
	a.prepare(b)
	x.fails = errors.New("no copy today")
	require.ErrorIs(t, a.of(b).send(), x.fails)
	require.True(t, lies(own))
	require.Zero(t, x.out+y.out, "the others are given back")
	x.fails = nil
}

// If a batch cannot be stored in the memory of its device, it is copied there, or not sent ahead at all.
func TestBatchesKeepTheirMemory(t *testing.T) {
	for name, change := range map[string]func(a *ahead, b *data.Batch, y *lendingBuffer, s *staging){
		"a step may be repeated": func(a *ahead, _ *data.Batch, _ *lendingBuffer, _ *staging) { a.lends = false },
		"there is no memory yet": func(_ *ahead, _ *data.Batch, y *lendingBuffer, _ *staging) { y.poor = true },
		"not all rows go there":  func(_ *ahead, _ *data.Batch, _ *lendingBuffer, s *staging) { s.whole = false },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, x, y, s := placing()
			change(a, b, y, s)
			own := &b.X.Arrays[0].Data[0]
			a.place(b)
			require.Same(t, own, &b.X.Arrays[0].Data[0])
			require.Zero(t, x.out+y.out)
			y.poor = false
			a.prepare(b)
			require.NoError(t, a.of(b).send())
			require.Equal(t, bytesOfFloats([]float32{1, 2, 3, 4, 5, 6}), x.got)
		})
	}
	s := &staging{sizes: []int{2, 1}, rows: 3}
	require.False(t, s.isWhole())
	s = &staging{sizes: []int{3}, rows: 3, columns: []stagedColumn{{index: 1}, {index: 1}}}
	require.False(t, s.isWhole(), "one array for two inputs")
}
