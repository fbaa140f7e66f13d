package distribute_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// check ends an example with its error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// vector makes a float32 array.
func vector(values ...float64) kernels.Array {
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{len(values)}, values)
	check(err)
	return a
}

func twoReplicas() distribute.Strategy {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	check(err)
	return s
}

// A function is traced once and runs on every replica, each with its part of the batch.
func ExampleStrategy() {
	s := twoReplicas()
	square := s.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor { return ops.Sum(ops.Square(in.X)) })
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{vector(1, 2, 3)}})
	check(err)
	perReplica, err := s.Run(context.Background(), square, batch)
	check(err)
	total, err := s.Reduce(distribute.Sum, perReplica)
	check(err)
	fmt.Println(s, s.Split(3), perReplica[0].Element(0), "+", perReplica[1].Element(0), "=", total.Element(0))
	// Output: Mirrored(cpu:0, cpu:1) [2 1] 5 + 9 = 14
}

// Models take their strategy as an option.
func ExampleScopeOption() {
	option := distribute.Scope(twoReplicas())
	fmt.Println(option.ScopeStrategy())
	// Output: Mirrored(cpu:0, cpu:1)
}

func ExampleHostBatch() {
	b := distribute.HostBatch{X: []kernels.Array{vector(1, 2, 3)}, Y: []kernels.Array{vector(4, 5, 6)}}
	fmt.Println(b.Examples())
	// Output: 3
}

func ExamplePerReplicaBatch() {
	parts, err := distribute.SplitBatch(twoReplicas(), distribute.HostBatch{X: []kernels.Array{vector(1, 2, 3)}})
	check(err)
	fmt.Println(parts[0].X[0].Float64s(), parts[1].X[0].Float64s())
	_, err = distribute.SplitBatch(twoReplicas(), distribute.HostBatch{X: []kernels.Array{vector(1, 2)}, Y: []kernels.Array{vector(1)}})
	fmt.Println(err != nil)
	// Output:
	// [1 2] [3]
	// true
}

func ExamplePerReplica() {
	s := twoReplicas()
	mean, err := s.Reduce(distribute.Mean, distribute.PerReplica{vector(1, 10), vector(3, 30)})
	check(err)
	fmt.Println(mean.Float64s())
	// Output: [2 20]
}

// A variable has a copy on each replica; the copies of a mirrored one stay equal.
func ExampleVariable() {
	s := twoReplicas()
	v := distribute.NewVariable(distribute.VariableSpec{Name: "weight", Shape: ir.Shape{2}, DType: ir.Float32})
	check(v.Place(s, 0))
	check(v.SetValue(vector(1, 2)))
	for replica := range s.Devices() {
		b, err := v.Buffer(replica)
		check(err)
		fmt.Println(v, b.Device(), ir.Element(b.Bytes(), ir.Float32, 1))
	}
	// Output:
	// weight float32[2] cpu:0 2
	// weight float32[2] cpu:1 2
}

// series is an initializer.
type series struct{}

func (series) Initialize(into kernels.Array, _ uint64) error {
	out := make([]float64, into.Type.Shape.Size())
	for i := range out {
		out[i] = float64(i)
	}
	return into.SetFloat64s(0, out)
}

func ExampleInitializer() {
	v := distribute.NewVariable(distribute.VariableSpec{Name: "series", Shape: ir.Shape{3}, DType: ir.Float32, Initializer: series{}})
	value, err := v.Value()
	check(err)
	fmt.Println(value.Float64s())
	// Output: [0 1 2]
}

func ExampleVariableSpec() {
	v := distribute.NewVariable(distribute.VariableSpec{Name: "count", DType: ir.Int64, Frozen: true})
	fmt.Println(v, v.Size(), v.Spec().Frozen)
	// Output: count int64[] 1 true
}

// Assigning to a mirrored variable with an aggregation combines the replicas' values.
func ExampleVariableAggregation() {
	s := twoReplicas()
	v := distribute.NewVariable(distribute.VariableSpec{Name: "largest", DType: ir.Float32, Aggregation: distribute.Mean})
	check(v.Place(s, 0))
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		r.Assign(v, ops.Sum(in.X))
		return nil
	})
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{vector(1, 3)}})
	check(err)
	_, err = s.Run(context.Background(), f, batch)
	check(err)
	value, err := v.Value()
	check(err)
	fmt.Println(value.Element(0))
	// Output: 2
}

// Each replica adds to its own copy of a variable that is synchronized on reading; reading adds the copies up.
func ExampleVariableSynchronization() {
	s := twoReplicas()
	seen := distribute.NewVariable(distribute.VariableSpec{
		Name: "seen", DType: ir.Float32, Frozen: true, Synchronization: distribute.OnRead, Aggregation: distribute.Sum,
	})
	check(seen.Place(s, 0))
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		r.AssignAdd(seen, ops.Scalar(in.X, float64(r.LocalBatchSize())))
		return nil
	})
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{vector(1, 2, 3)}})
	check(err)
	for range 2 {
		_, err = s.Run(context.Background(), f, batch)
		check(err)
	}
	value, err := seen.Value()
	check(err)
	fmt.Println(value.Element(0))
	// Output: 6
}

func ExampleVariables() {
	vs := distribute.Variables{
		distribute.NewVariable(distribute.VariableSpec{Name: "kernel", Shape: ir.Shape{4, 3}, DType: ir.Float32}),
		distribute.NewVariable(distribute.VariableSpec{Name: "bias", Shape: ir.Shape{3}, DType: ir.Float32}),
	}
	fmt.Println(vs.Count())
	// Output: 15
}

// One step of gradient descent for w·x = y, written out: the loss is divided by the size of the global batch, gradients
// are summed.
func ExampleStepFunction() {
	s := twoReplicas()
	w := distribute.NewVariable(distribute.VariableSpec{Name: "w", DType: ir.Float32})
	check(w.Place(s, 0))
	var step distribute.StepFunction = func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		miss := ops.Subtract(ops.Multiply(in.X, r.Read(w)), in.Y)
		loss := ops.DivideScalar(ops.Sum(ops.Square(miss)), float64(r.GlobalBatchSize()))
		gradient := r.AllReduce(ir.Sum, tape.Gradients(loss, distribute.Variables{w}).Values[0])[0]
		r.Assign(w, ops.Subtract(r.Read(w), ops.MultiplyScalar(gradient, 0.125)))
		return loss
	}
	f := s.Function(step)
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{vector(1, 2, 1)}, Y: []kernels.Array{vector(3, 6, 3)}})
	check(err)
	for range 2 {
		losses, err := s.Run(context.Background(), f, batch)
		check(err)
		total, err := s.Reduce(distribute.Sum, losses)
		check(err)
		value, err := w.Value()
		check(err)
		fmt.Println(total.Element(0), value.Element(0))
	}
	// Output:
	// 18 1.5
	// 4.5 2.25
}

func ExampleReplica() {
	s := twoReplicas()
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		fmt.Println("traced for", r.LocalBatchSize(), "of", r.GlobalBatchSize(), "examples on", r.NumReplicasInSync(), "replicas")
		return r.ID()
	})
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{vector(1, 2)}})
	check(err)
	ids, err := s.Run(context.Background(), f, batch)
	check(err)
	fmt.Println(ids[0].Element(0), ids[1].Element(0))
	// Output:
	// traced for 1 of 2 examples on 2 replicas
	// 0 1
}

// Layers are called with a context, which reports whether the model is training.
func ExampleContext() {
	r := distribute.NewReplica("trace", 1, 4, 4)
	c := r.Training()
	c.EnterLayer("encoder", ir.BFloat16)
	fmt.Println(c.Training, c.ComputeDType(), c.Graph().Path())
	c.LeaveLayer()
	fmt.Println(r.Inference().Training, c.ComputeDType())
	// Output:
	// true bfloat16 encoder
	// false float32
}

func ExampleBatch() {
	s := distribute.Default()
	f := s.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor {
		fmt.Println(len(in.Xs), "inputs,", len(in.Ys), "targets, weights:", in.SampleWeight != nil)
		return ops.Sum(ops.Multiply(in.X, in.Xs[1]))
	})
	out, err := s.Run(context.Background(), f, distribute.PerReplicaBatch{{X: []kernels.Array{vector(1, 2), vector(3, 4)}}})
	check(err)
	fmt.Println(out[0].Element(0))
	// Output:
	// 2 inputs, 0 targets, weights: false
	// 11
}

// A function can be used without copying its results: fill the inputs of an instance, run it, and read its outputs.
func ExampleInstance() {
	s := distribute.Default()
	double := distribute.NewFunction(s, "double", func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.MultiplyScalar(in[0], 2)}
	})
	defer double.Close()
	x := vector(1, 2, 3)
	inst, err := double.Acquire([][]ir.Type{{x.Type}}, []int{3})
	check(err)
	defer double.Release(inst)
	check(inst.Input(0, 0).Write(x.Data))
	check(inst.Run(context.Background(), 0, 0))
	fmt.Println(kernels.Array{Type: x.Type, Data: inst.Output(0, 0).Bytes()}.Float64s(), inst.WritesVariables())
	// Output: [2 4 6] false
}

func ExampleFunction() {
	s := distribute.Default()
	var trace distribute.TraceFunc = func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Sum(in[0])}
	}
	f := distribute.NewFunction(s, "sum", trace)
	out, err := s.Run(context.Background(), f, distribute.PerReplicaBatch{{X: []kernels.Array{vector(1, 2, 3)}}})
	check(err)
	fmt.Println(out[0].Element(0), f.Strategy())
	// Output: 6 Default(cpu:0)
}

func ExampleTraceFunc() {
	var trace distribute.TraceFunc = func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Relu(in[0])}
	}
	s := distribute.Default()
	out, err := s.Run(context.Background(), distribute.NewFunction(s, "relu", trace), distribute.PerReplicaBatch{{X: []kernels.Array{vector(-1, 2)}}})
	check(err)
	fmt.Println(out[0].Float64s())
	// Output: [0 2]
}
