package kernelstest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// pickAndCount is a program that counts in a variable and looks up a row of a table, which fails for an index that is
// not 0 or 1. The count does not need the row.
func pickAndCount() program {
	p := newProgram("pick and count")
	count, table, index := p.in(ir.Float32, 3), p.in(ir.Float32, 2, 3), p.in(ir.Int32)
	p.AddAlias("count", p.op(ir.Add, nil, count, p.constant(ir.Float32, 1, 3)), 0)
	p.out(p.op(ir.Gather, ir.GatherAttrs{}, table, index))
	return p
}

// counting is a session of pickAndCount with its buffers.
type counting struct {
	t       *testing.T
	r       runner
	session kernels.Session
	queue   kernels.Queue
	in, out []kernels.Buffer
}

func (r runner) counting(t *testing.T) *counting {
	p := pickAndCount()
	e, err := r.backend.Compile(p.Program, kernels.CompileOptions{Device: r.device})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	c := &counting{t: t, r: r}
	c.session, err = e.NewSession(kernels.SessionOptions{Device: r.device})
	require.NoError(t, err)
	t.Cleanup(c.session.Close)
	c.queue, err = r.backend.NewQueue(r.device)
	require.NoError(t, err)
	t.Cleanup(c.queue.Close)
	assert.Equal(t, r.device, c.queue.Device())
	c.in, err = r.upload([]reference.Value{
		value(ir.Float32, ir.Shape{3}, func(int) float64 { return 0 }),
		value(ir.Float32, ir.Shape{2, 3}, func(i int) float64 { return float64(10 + i) }),
		value(ir.Int32, nil, func(int) float64 { return 1 }),
	})
	require.NoError(t, err)
	row, err := r.garbage(ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	require.NoError(t, err)
	c.out = []kernels.Buffer{nil, row}
	t.Cleanup(func() { free(append(c.in, row)) })
	return c
}

// launch runs the program with an index and does not wait.
func (c *counting) launch(index float64) kernels.Event {
	require.NoError(c.t, c.in[2].Write(value(ir.Int32, nil, func(int) float64 { return index }).Bytes()))
	return c.session.Launch(runContext(c.t), kernels.Launch{Queue: c.queue, Inputs: c.in, Outputs: c.out})
}

func (c *counting) counted() float64 {
	v, err := download(c.in[0])
	require.NoError(c.t, err)
	return v.F[0]
}

// order: operations on one buffer happen in the order of the calls, whether anybody waits for them or not.
func (r runner) order(t *testing.T) {
	c := r.counting(t)
	copied, err := r.garbage(ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	require.NoError(t, err)
	defer copied.Free()
	rows := [2][]byte{make([]byte, 12), make([]byte, 12)}
	var events []kernels.Event
	for i := range rows {
		events = append(events, c.launch(float64(i)), c.out[1].Download(rows[i]))
		if i == 0 {
			events = append(events, copied.CopyFrom(c.in[0]))
		}
	}
	twenty := value(ir.Float32, ir.Shape{3}, func(int) float64 { return 20 }).Bytes()
	events = append(events, c.in[0].Upload(twenty), c.launch(0))
	for _, e := range events {
		require.NoError(t, e.Wait(runContext(t)))
		assert.True(t, e.Done())
	}
	for i, row := range rows {
		got, err := reference.FromBytes(c.out[1].Type(), row)
		require.NoError(t, err)
		assert.Equal(t, []float64{float64(10 + 3*i), float64(11 + 3*i), float64(12 + 3*i)}, got.F)
	}
	first, err := download(copied)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 1, 1}, first.F, "the copy is of the value between the launches")
	assert.Equal(t, 21.0, c.counted())
	assert.Error(t, copied.CopyFrom(c.in[2]).Wait(runContext(t)), "a buffer of another type")
	assert.Error(t, copied.Upload(rows[0][:11]).Wait(runContext(t)))
	assert.Error(t, copied.Download(rows[0][:11]).Wait(runContext(t)))
}

// queue: a launch that fails changes no variable, and neither do those after it in the queue, until its error has been
// taken.
func (r runner) queue(t *testing.T) {
	c := r.counting(t)
	good := c.launch(0)
	bad := c.launch(7)
	late := c.launch(1)
	assert.NoError(t, good.Wait(runContext(t)))
	require.ErrorContains(t, bad.Wait(runContext(t)), "7")
	require.ErrorContains(t, late.Wait(runContext(t)), "7", "a launch behind one that failed")
	assert.Equal(t, 1.0, c.counted(), "a launch that failed, or one behind it, has changed a variable")
	assert.ErrorContains(t, c.queue.Wait(runContext(t)), "7")
	assert.NoError(t, c.queue.Wait(runContext(t)), "the error was taken")
	assert.NoError(t, c.launch(1).Wait(runContext(t)))
	assert.Equal(t, 2.0, c.counted())
}
