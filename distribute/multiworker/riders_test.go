package multiworker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// carrier is how Fit sees a group that joins flags with sums.
type carrier interface {
	Attach(flags []byte)
	Attached() bool
}

// Flags ride with short sums of floats that belong to a program, whose values they do not change, and with nothing
// else.
func TestFlagsRideWithSums(t *testing.T) {
	cases := []struct {
		name  string
		call  distribute.WorkerCall
		kind  ir.Kind
		types []ir.Type
		rides bool
	}{
		{"sum", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{5}}}, true},
		{"float64", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Float64, Shape: ir.Shape{3, 2}}}, true},
		{"two types", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Int32, Shape: ir.Shape{3}}, {DType: ir.Float32, Shape: ir.Shape{}}}, true},
		{"maximum", distribute.WorkerCall{Program: 1}, ir.Max, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{5}}}, false},
		{"no program", distribute.WorkerCall{Name: "metrics"}, ir.Sum, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{5}}}, false},
		{"integers", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Uint8, Shape: ir.Shape{5}}}, false},
		{"16 bits", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Float16, Shape: ir.Shape{5}}}, false},
		{"long", distribute.WorkerCall{Program: 1}, ir.Sum, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{8<<10 + 1}}}, false},
	}
	for _, n := range []int{2, 3} {
		for _, far := range []bool{false, true} {
			_, errs := workers(t, n, func(_ int, o *multiworker.Options) { o.NoSharedMemory = far }, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
				group, rank := distribute.WorkersOf(s), s.Rank()
				g, ok := group.(carrier)
				if !ok {
					return nil, fmt.Errorf("%T carries no flags", group)
				}
				for _, c := range cases {
					flags := []byte{0, byte(min(rank, 1)), 1, 0}
					want := slices.Clone(flags)
					if c.rides {
						want = []byte{0, 1, 1, 0}
					}
					g.Attach(flags)
					for round := range 2 { // the second time without flags
						var values []kernels.Array
						for _, typ := range c.types {
							a := kernels.NewArray(typ)
							if err := a.SetFloat64s(0, slices.Repeat([]float64{float64(rank + 1)}, typ.Shape.Size())); err != nil {
								return nil, err
							}
							values = append(values, a)
						}
						if err := group.AllReduce(ctx, c.call, c.kind, values); err != nil {
							return nil, err
						}
						sum := float64(n)
						if c.kind == ir.Sum {
							sum = float64(n*(n+1)) / 2
						}
						for _, a := range values {
							if got := a.Float64s(); slices.Min(got) != sum || slices.Max(got) != sum {
								return nil, fmt.Errorf("%s: %v, expected %g", c.name, got, sum)
							}
						}
						if round == 0 && c.rides && !slices.Equal(flags, want) {
							return nil, fmt.Errorf("%s: flags %v, expected %v", c.name, flags, want)
						}
					}
					if rides := g.Attached(); rides != c.rides || !slices.Equal(flags, want) {
						return nil, fmt.Errorf("%s: flags rode: %v, %v, expected %v, %v", c.name, rides, flags, c.rides, want)
					}
					if g.Attached() {
						return nil, fmt.Errorf("%s: flags rode again", c.name)
					}
				}
				return nil, nil
			})
			for _, err := range errs {
				require.NoError(t, err)
			}
		}
	}
}

// All workers stop after the same step, whoever asks and however: a callback of a batch after that batch, others at
// once. Those that have no such callback do what the others do.
func TestWorkersStopTogether(t *testing.T) {
	const steps = 2000
	type outcome struct {
		trained int64
		told    int
		weights []float64
		err     error
	}
	for _, how := range []string{"callback", "executions", "goroutine", "context"} {
		results, errs := workers(t, 2, nil, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (outcome, error) {
			m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(s), keras.InputShape(4))
			if err != nil {
				return outcome{}, err
			}
			if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}); err != nil {
				return outcome{}, err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			x, y := make([]float32, 2*steps*4), make([]float32, 2*steps)
			for i := range x {
				x[i] = float32(i%7) / 7
			}
			source := data.Arrays(data.Must(data.ArrayOf(x, 2*steps, 4)), data.Must(data.ArrayOf(y, 2*steps, 1)))
			out, options := outcome{}, []keras.FitOption{keras.BatchSize(2), keras.Epochs(1000)}
			if how == "executions" { // whose flags do not ride, after a Fit whose flags did
				if _, err := m.Fit(ctx, source, keras.BatchSize(2), keras.StepsPerEpoch(2)); err != nil {
					return out, err
				}
				if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", StepsPerExecution: 3}); err != nil {
					return out, err
				}
			}
			switch {
			case s.Rank() == 0:
			case how == "callback" || how == "executions":
				options = append(options, keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
					if out.told++; batch == 5 {
						m.Stop()
					}
					return nil
				}}))
			case how == "goroutine":
				time.AfterFunc(20*time.Millisecond, m.Stop)
			case how == "context":
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			_, out.err = m.Fit(ctx, source, options...)
			if out.trained, err = m.Iterations(); err != nil {
				return out, err
			}
			for _, v := range m.Weights() {
				a, err := v.Value()
				if err != nil {
					return out, err
				}
				out.weights = append(out.weights, a.Float64s()...)
			}
			return out, nil
		})
		for _, err := range errs {
			require.NoError(t, err, how)
		}
		require.Equal(t, results[0].weights, results[1].weights, how)
		require.Equal(t, results[0].trained, results[1].trained, how)
		switch how {
		case "callback", "executions":
			require.Equal(t, map[string]int{"callback": 6, "executions": 2}[how], results[1].told)
			require.EqualValues(t, 6, results[0].trained)
		case "context":
			require.ErrorIs(t, results[0].err, keras.ErrWorkerStopped)
			require.ErrorIs(t, results[1].err, context.Canceled)
			continue
		}
		require.NoError(t, results[0].err, how)
		require.NoError(t, results[1].err, how)
	}
}
