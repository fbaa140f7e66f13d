package cpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// moving is this backend with sessions whose shared memory is elsewhere in each run, and full of what others left
// there.
type moving struct{ Backend }

func (m moving) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	e, err := m.Backend.Compile(p, o)
	if err != nil {
		return nil, err
	}
	return movingExecutable{e}, nil
}

type movingExecutable struct{ kernels.Executable }

func (e movingExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	o.Scratch = &kernels.Scratch{}
	s, err := e.Executable.NewSession(o)
	if err != nil {
		return nil, err
	}
	return movingSession{s.(*session)}, nil
}

type movingSession struct{ *session }

func (s movingSession) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	if m := s.rt.shared; !s.closed {
		m.mu.Lock()
		m.arena = otherwise(len(m.arena))
		for i := range m.workers {
			m.workers[i] = otherwise(len(m.workers[i]))
		}
		m.spare = otherwise(len(m.spare))
		m.give(s.session)
		m.mu.Unlock()
	}
	return s.session.Launch(ctx, l)
}

// otherwise returns n bytes that are NaN as floats, and no valid index.
func otherwise(n int) []byte {
	memory := plan.AlignedBytes(n)
	for i := range memory {
		memory[i] = 0xff
	}
	return memory
}

// A run depends on nothing that an earlier one left in memory that sessions share.
func TestSharedMemoryKeepsNothing(t *testing.T) {
	kernelstest.Run(t, moving{}, kernels.Device{Kind: Kind})
}

// Sessions of many programs that run in turns in one memory, which grows with them, compute what they compute alone,
// and closed ones leave it to the others.
func TestSessionsInOneMemory(t *testing.T) {
	type made struct {
		session kernels.Session
		in, out []kernels.Buffer
		alone   [][]byte
	}
	var all []*made
	var lent kernels.Scratch
	r := rand.New(rand.NewPCG(7, 7))
	run := func(s kernels.Session, in, out []kernels.Buffer) (results [][]byte) {
		require.NoError(t, s.Launch(t.Context(), kernels.Launch{Inputs: in, Outputs: out}).Wait(t.Context()))
		for _, b := range out {
			result := make([]byte, b.Type().Bytes())
			require.NoError(t, b.Read(result))
			results = append(results, result)
		}
		return results
	}
	for seed := range uint64(80) {
		p, inputs := kernelstest.RandomProgram(2000 + seed)
		m := &made{in: buffersOf(t, inputs)}
		for _, o := range p.Outputs {
			m.out = append(m.out, newBuffer(testDevice, p.Type(o.Value)))
		}
		e, err := Backend{}.Compile(p, kernels.CompileOptions{Device: testDevice})
		require.NoError(t, err)
		own, err := e.NewSession(kernels.SessionOptions{Device: testDevice})
		require.NoError(t, err)
		m.alone = run(own, m.in, m.out)
		own.Close()
		m.session, err = e.NewSession(kernels.SessionOptions{Device: testDevice, Scratch: &lent})
		require.NoError(t, err)
		all = append(all, m)
		for range 3 {
			m := all[r.IntN(len(all))]
			require.Equal(t, m.alone, run(m.session, m.in, m.out))
		}
	}
	memory := lent.Memory.(*shared)
	require.Len(t, memory.sessions, len(all))
	for len(all) > 0 {
		i := r.IntN(len(all))
		all[i].session.Close()
		all = append(all[:i], all[i+1:]...)
		for _, m := range all[:min(len(all), 3)] {
			require.Equal(t, m.alone, run(m.session, m.in, m.out))
		}
	}
	require.Empty(t, memory.sessions)
}

func buffersOf(t *testing.T, values []reference.Value) (list []kernels.Buffer) {
	for _, v := range values {
		b := newBuffer(testDevice, v.Type)
		require.NoError(t, b.Write(v.Bytes()))
		list = append(list, b)
	}
	return list
}

// A buffer that borrows gets memory of its own when it needs some, and has none after it was freed.
func TestBorrowingBuffers(t *testing.T) {
	typ := ir.Type{DType: ir.Int32, Shape: ir.Shape{3}}
	lent, zeros := []byte("abcdefghijkl"), make([]byte, 12)
	for name, use := range map[string]func(b kernels.Borrower) []byte{
		"Read": func(b kernels.Borrower) []byte {
			x := bytes.Repeat([]byte{7}, 12)
			require.NoError(t, b.Read(x))
			return x
		},
		"Bytes": func(b kernels.Borrower) []byte { return b.Bytes() },
		"ReadRange": func(b kernels.Borrower) []byte {
			x := bytes.Repeat([]byte{7}, 12)
			require.NoError(t, b.(kernels.RangeReader).ReadRange(x, 0))
			return x
		},
		"Fill": func(b kernels.Borrower) (x []byte) {
			require.NoError(t, b.(kernels.Filler).Fill(func(memory []byte) error { x = memory; return nil }))
			return x
		},
		"CopyFrom": func(b kernels.Borrower) []byte {
			c := newBuffer(testDevice, typ)
			require.NoError(t, c.CopyFrom(b).Wait(t.Context()))
			return c.Bytes()
		},
		"Exchange": func(b kernels.Borrower) []byte {
			c := newBuffer(testDevice, typ)
			require.NoError(t, b.(kernels.Exchanger).Exchange(c))
			require.Equal(t, zeros, c.Bytes())
			return b.Bytes()
		},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := Backend{}.NewBorrowingBuffer(testDevice, typ)
			require.NoError(t, err)
			require.Equal(t, zeros, use(made))
			made, err = Backend{}.NewBorrowingBuffer(testDevice, typ)
			require.NoError(t, err)
			require.NoError(t, made.Borrow(lent))
			require.Equal(t, lent, made.Bytes())
			require.Error(t, made.Borrow(lent[:11]))
			require.NoError(t, made.Borrow(nil))
			require.Equal(t, zeros, use(made))
			made.Free()
			require.Error(t, made.Read(zeros))
			require.Error(t, made.Borrow(lent))
			require.Empty(t, made.Bytes())
		})
	}
	_, err := Backend{}.NewBorrowingBuffer(testDevice, ir.Type{DType: ir.Int32, Shape: ir.Shape{-3}})
	require.EqualError(t, err, "cpu: cannot make a buffer of int32[-3]")
}
