package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// inGroups is a program of each collective in groups, and of one of all replicas.
func inGroups(t *testing.T, n int, groups [][]int) *ir.Program {
	t.Helper()
	p := ir.New("groups")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 6}})
	h := p.AddInput("h", ir.Type{DType: ir.BFloat16, Shape: ir.Shape{2000}})
	a := ir.CollectiveAttrs{Replicas: n, Groups: groups}
	add := func(op ir.Op, a ir.CollectiveAttrs, in ...ir.Value) {
		out, err := p.Add("layer", op, a, in...)
		require.NoError(t, err)
		for _, v := range out {
			p.AddOutput(fmt.Sprint("y", len(p.Outputs)), v)
		}
	}
	for _, kind := range []ir.Kind{ir.Sum, ir.Mean, ir.Max} {
		a.Kind = kind
		add(ir.AllReduce, a, x, h)
	}
	a.Kind, a.Axis, a.Root = ir.Sum, 1, 1
	add(ir.AllGather, a, x)
	add(ir.ReduceScatter, a, x)
	add(ir.CollectiveBroadcast, a, x)
	add(ir.AllReduce, ir.CollectiveAttrs{Replicas: n, Kind: ir.Sum}, x)
	return p
}

// plain hides what else a communicator can do.
type plain struct{ kernels.Communicator }

// Replicas that meet in groups get the same results as the reference, with communicators that have groups and with
// those that do not.
func TestGroups(t *testing.T) {
	groups := [][]int{{2, 0}, {1, 3}}
	p := inGroups(t, 4, groups)
	backend, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	devices := make([]kernels.Device, 4)
	inputs := make([][]reference.Value, 4)
	for i := range devices {
		devices[i] = kernels.Device{Kind: "cpu", Index: i}
		for _, in := range p.Inputs {
			typ := p.Type(in.Value)
			numbers := make([]float64, typ.Shape.Size())
			for e := range numbers {
				numbers[e] = float64((e*7+i*5)%16) - 6
			}
			v, err := reference.New(typ.DType, typ.Shape, numbers...)
			require.NoError(t, err)
			inputs[i] = append(inputs[i], v)
		}
	}
	want, err := reference.RunReplicas(p, inputs)
	require.NoError(t, err)
	for _, hidden := range []bool{false, true} {
		comms, err := backend.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
		require.NoError(t, err)
		code, err := backend.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: 4})
		require.NoError(t, err)
		defer code.Close()
		errs := make([]error, 4)
		var wait sync.WaitGroup
		for i := range devices {
			wait.Go(func() {
				errs[i] = func() error {
					s, err := code.NewSession(kernels.SessionOptions{Device: devices[i], Replica: i})
					if err != nil {
						return err
					}
					defer s.Close()
					l := kernels.Launch{Communicator: comms[i]}
					if hidden {
						l.Communicator = plain{comms[i]}
					}
					for j, in := range p.Inputs {
						b, err := backend.NewBuffer(devices[i], p.Type(in.Value))
						if err != nil {
							return err
						}
						if err := b.Write(inputs[i][j].Bytes()); err != nil {
							return err
						}
						l.Inputs = append(l.Inputs, b)
					}
					for _, out := range p.Outputs {
						b, err := backend.NewBuffer(devices[i], p.Type(out.Value))
						if err != nil {
							return err
						}
						l.Outputs = append(l.Outputs, b)
					}
					for range 3 {
						if err := s.Launch(t.Context(), l).Wait(t.Context()); err != nil {
							return err
						}
					}
					for j, b := range l.Outputs {
						if got := b.Bytes(); string(got) != string(want[i][j].Bytes()) {
							return fmt.Errorf("replica %d, output %d of %v differs from the reference", i, j, b.Type())
						}
					}
					return nil
				}()
				if errs[i] != nil {
					comms[i].Abort(errs[i])
				}
			})
		}
		wait.Wait()
		require.NoError(t, errors.Join(errs...), "hidden %v", hidden)
		for _, c := range comms {
			c.Close()
		}
	}
}

// If a replica gives up, neither its group nor the other groups wait for it.
func TestGroupsFail(t *testing.T) {
	backend, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	devices := make([]kernels.Device, 4)
	for i := range devices {
		devices[i] = kernels.Device{Kind: "cpu", Index: i}
	}
	p := inGroups(t, 4, [][]int{{0, 1}, {2, 3}})
	code, err := backend.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: 4})
	require.NoError(t, err)
	defer code.Close()
	comms, err := backend.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, 4)
	var wait sync.WaitGroup
	for i := range 3 { // the fourth does not come
		wait.Go(func() {
			s, err := code.NewSession(kernels.SessionOptions{Device: devices[i], Replica: i})
			if errs[i] = err; err != nil {
				return
			}
			defer s.Close()
			l := kernels.Launch{Communicator: comms[i]}
			for _, in := range p.Inputs {
				b, _ := backend.NewBuffer(devices[i], p.Type(in.Value))
				l.Inputs = append(l.Inputs, b)
			}
			for _, out := range p.Outputs {
				b, _ := backend.NewBuffer(devices[i], p.Type(out.Value))
				l.Outputs = append(l.Outputs, b)
			}
			errs[i] = s.Launch(ctx, l).Wait(ctx)
		})
	}
	lost := errors.New("replica 3 is lost")
	comms[3].Abort(lost)
	wait.Wait()
	for i := range 3 {
		require.ErrorIs(t, errs[i], lost, "replica %d", i)
	}
}
