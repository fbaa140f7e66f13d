package jit_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestShared: equal steps share their code, and steps that differ in anything do not.
func TestShared(t *testing.T) {
	needsCode(t)
	type request struct {
		steps   []jit.Step
		size    int
		numbers [256]bool
	}
	compile := func(change func(r *request)) *jit.Code {
		r := request{size: 4, steps: []jit.Step{
			{Op: vec.ChainMul, Dst: 10, In: [3]uint8{1, 2}},
			{Op: vec.ChainAdd, Dst: 11, In: [3]uint8{10, 3}},
			{Op: jit.Convert, Dst: 12, In: [3]uint8{11}, From: ir.Float32, To: ir.Int32, Stored: true},
		}}
		change(&r)
		code := jit.Compile(r.steps, r.size, func(p uint8) bool { return r.numbers[p] })
		require.NotNil(t, code)
		return code
	}
	first := compile(func(*request) {})
	require.Same(t, first, compile(func(*request) {}))
	for i, change := range []func(r *request){
		func(r *request) { r.steps[0].Op = vec.ChainSub },
		func(r *request) { r.steps[2].Dst = 13 },
		func(r *request) { r.steps[0].In[0] = 4 },
		func(r *request) { r.steps[0].In[1] = 4 },
		func(r *request) { r.steps[1].Stored = true },
		func(r *request) { r.steps[2].To = ir.Uint32 },
		func(r *request) { r.numbers[2] = true },
		func(r *request) { r.numbers[3] = true },
		func(r *request) { r.steps = r.steps[:2]; r.steps[1].Stored = true },
	} {
		require.NotSame(t, first, compile(change), i)
		require.Same(t, compile(change), compile(change), i)
	}
	product := func(size int) *jit.Code {
		return compile(func(r *request) { r.steps, r.size = r.steps[:1], size; r.steps[0].Stored = true })
	}
	require.NotSame(t, product(4), product(8))
	lookup := func(table jit.Table) *jit.Code {
		return jit.Compile([]jit.Step{{Op: jit.Lookup, Dst: 3, In: [3]uint8{1, 2}, Stored: true, Lookup: &table}}, 4, func(uint8) bool { return false })
	}
	table := jit.Table{Size: 4, Last: 9, Number: 1, Failure: 4}
	looks := lookup(table)
	require.Same(t, looks, lookup(table))
	for i, change := range []func(t *jit.Table){
		func(t *jit.Table) { t.Last = 10 }, func(t *jit.Table) { t.Clips = true }, func(t *jit.Table) { t.Number = 2 },
		func(t *jit.Table) { t.Failure = 5 }, func(t *jit.Table) { t.Size = 1 },
	} {
		other := table
		change(&other)
		require.NotSame(t, looks, lookup(other), i)
	}
	for _, path := range isa.Paths() {
		func() {
			defer isa.Override(path)()
			if path != isa.Executable() && jit.Usable() {
				code := compile(func(r *request) { r.steps = r.steps[:2]; r.steps[1].Stored = true })
				require.True(t, code.Usable(), path)
			}
		}()
	}
}

// TestSharedMeanwhile compiles the same steps from several goroutines while their code is dropped again and again.
func TestSharedMeanwhile(t *testing.T) {
	needsCode(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 200 {
				code := jit.Compile([]jit.Step{{Op: vec.ChainNeg, Dst: uint8(i % 3), In: [3]uint8{9}, Stored: true}}, 4, func(uint8) bool { return false })
				if code == nil || !code.Usable() {
					t.Error("no code")
				}
				if i%50 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wait.Wait()
}
