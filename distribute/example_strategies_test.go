package distribute_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func scalar(v float64) kernels.Array {
	a, err := kernels.FromFloat64s(ir.Float32, nil, []float64{v})
	check(err)
	return a
}

func ExampleMirroredOptions() {
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{
		Devices: []string{"cpu:0", "cpu:1"}, CrossDeviceOps: distribute.HierarchicalCopyAllReduce{NumPacks: 1},
	})
	check(err)
	fmt.Println(s)
	// Output: Mirrored(cpu:0, cpu:1)
}

// With central storage there is one copy of each variable.
func ExampleCentralStorageOptions() {
	s, err := distribute.NewCentralStorageStrategyWith(distribute.CentralStorageOptions{ComputeDevices: []string{"cpu:0", "cpu:1"}})
	check(err)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "w", DType: ir.Float32})
	check(err)
	copies, err := v.Components()
	check(err)
	fmt.Println(s, len(copies))
	// Output: CentralStorage(cpu:0, cpu:1; variables on cpu:0) 1
}

func ExampleCommunicationOptions() {
	_, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Communication: distribute.CommunicationOptions{BytesPerPack: -1}})
	fmt.Println(err)
	// Output: distribute: MirroredStrategy: BytesPerPack is -1; expected 0 (the default) or more
}

// withCrossDeviceOps sums 1 and 2 over two replicas.
func withCrossDeviceOps(o distribute.CrossDeviceOps) {
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"cpu:0", "cpu:1"}, CrossDeviceOps: o})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any { return r.AllReduce(ir.Sum, args[0].(*ops.Tensor))[0] })
	got, err := f.Run(context.Background(), distribute.PerReplica{scalar(1), scalar(2)})
	check(err)
	fmt.Println(got.(distribute.PerReplica)[1].Element(0))
}

func ExampleCrossDeviceOps() {
	for _, o := range []distribute.CrossDeviceOps{nil, distribute.ReductionToOneDevice{}, distribute.RingAllReduce{}} {
		withCrossDeviceOps(o)
	}
	// Output:
	// 3
	// 3
	// 3
}

func ExampleReductionToOneDevice() {
	withCrossDeviceOps(distribute.ReductionToOneDevice{Device: "cpu:1"})
	// Output: 3
}

func ExampleHierarchicalCopyAllReduce() {
	withCrossDeviceOps(distribute.HierarchicalCopyAllReduce{NumPacks: 2})
	// Output: 3
}

func ExampleRingAllReduce() {
	withCrossDeviceOps(distribute.RingAllReduce{NumPacks: 1})
	// Output: 3
}

func ExampleNcclAllReduce() {
	withCrossDeviceOps(distribute.NcclAllReduce{})
	withCrossDeviceOps(distribute.NcclAllReduce{Fallback: true})
	// Output:
	// distribute: MirroredStrategy: NcclAllReduce needs GPUs, the devices are [cpu:0 cpu:1]; leave CrossDeviceOps out, use ReductionToOneDevice, or set Fallback
	// 3
}

func ExampleReduceOp() {
	op, err := distribute.ParseReduceOp("MEAN")
	check(err)
	// The mean over axis 0 counts every element once, also where replicas have different numbers of them.
	mean, err := twoReplicas().Reduce(op, distribute.PerReplica{vector(5, 6), vector(7)}, 0)
	check(err)
	fmt.Println(op, mean.Element(0))
	// Output: mean 6
}

func ExampleValueContext() {
	value, err := twoReplicas().DistributeValuesFromFunction(func(c distribute.ValueContext) (kernels.Array, error) {
		return vector(float64(c.ReplicaIDInSyncGroup), float64(c.NumReplicasInSync)), nil
	})
	check(err)
	fmt.Println(value[0].Float64s(), value[1].Float64s())
	// Output: [0 2] [1 2]
}

// Replica code with structures for arguments and results.
func ExampleNestFunction() {
	f := distribute.NewNestFunction(twoReplicas(), func(_ *distribute.Replica, args ...any) any {
		x := args[0].(*ops.Tensor)
		return map[string]any{"sum": ops.Sum(x), "name": "x"}
	})
	defer f.Close()
	got, err := f.Run(context.Background(), distribute.PerReplica{vector(1, 2), vector(3)})
	check(err)
	result := got.(map[string]any)
	fmt.Println(result["name"], result["sum"].(distribute.PerReplica)[1].Element(0))
	// Output: x 3
}

// Replicas whose parts differ in length are traced apart and may return different Go values.
func ExamplePerReplicaObjects() {
	f := distribute.NewNestFunction(twoReplicas(), func(_ *distribute.Replica, args ...any) any { return args[0].(*ops.Tensor).Dim(0) })
	got, err := f.Run(context.Background(), distribute.PerReplica{vector(1, 2), vector(3)})
	check(err)
	fmt.Println(got.(distribute.PerReplicaObjects))
	// Output: [2 1]
}

// A panic in replica code is an error of Run.
func ExamplePanicError() {
	f := distribute.NewNestFunction(twoReplicas(), func(*distribute.Replica, ...any) any { panic("out of luck") })
	_, err := f.Run(context.Background())
	var p *distribute.PanicError
	fmt.Println(errors.As(err, &p), err)
	// Output: true the step function panicked: out of luck
}

// Inside MergeCall code sees all replicas at once.
func ExampleCrossReplica() {
	f := distribute.NewNestFunction(twoReplicas(), func(r *distribute.Replica, args ...any) any {
		return r.MergeCall(func(c *distribute.CrossReplica, x ...*ops.Tensor) []*ops.Tensor {
			return c.Reduce(distribute.Mean, x...)
		}, args[0].(*ops.Tensor))[0]
	})
	got, err := f.Run(context.Background(), distribute.PerReplica{scalar(1), scalar(2)})
	check(err)
	fmt.Println(got.(distribute.PerReplica)[0].Element(0), got.(distribute.PerReplica)[1].Element(0))
	// Output: 1.5 1.5
}

// Update changes each copy on its own.
func ExampleComponent() {
	s := twoReplicas()
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
	check(err)
	_, err = s.Extended().Update(context.Background(), v, func(u *distribute.Component, args ...*ops.Tensor) *ops.Tensor {
		u.AssignAdd(args[0])
		return nil
	}, distribute.PerReplica{scalar(1), scalar(2)})
	check(err)
	copies, err := v.Components()
	check(err)
	fmt.Println(copies[0].Element(0), copies[1].Element(0), distribute.Variables{v}.CheckMirrored() != nil)
	// Output: 1 2 true
}

func ExampleExtended() {
	e := twoReplicas().Extended()
	devices, err := e.WorkerDevices()
	check(err)
	fmt.Println(devices, e.ShouldCheckpoint(), e.ShouldSaveSummary())
	// Output: [cpu:0 cpu:1] true true
}

func ExampleDestination() {
	sums, err := twoReplicas().Extended().ReduceTo(distribute.Sum, distribute.PerReplica{scalar(1), scalar(2)}, distribute.ToDevices("cpu:0"))
	check(err)
	fmt.Println(len(sums), sums[0].Element(0))
	// Output: 1 3
}

func ExampleValueDestination() {
	x := distribute.PerReplica{scalar(1), scalar(2)}
	out, err := twoReplicas().Extended().BatchReduceTo(distribute.Mean, []distribute.ValueDestination{{Value: x, To: distribute.ToDevices("cpu:0", "cpu:1")}})
	check(err)
	fmt.Println(out[0][0].Element(0), out[0][1].Element(0))
	// Output: 1.5 1.5
}

// Sparse values stay sparse when they are reduced.
func ExampleIndexedSlices() {
	f := distribute.NewNestFunction(twoReplicas(), func(r *distribute.Replica, args ...any) any {
		s := r.AllReduceSlices(distribute.Sum, distribute.IndexedSlices{Indices: args[0].(*ops.Tensor), Values: args[1].(*ops.Tensor), DenseShape: []int{4}})
		return []any{s.Indices, s.Dense()}
	})
	rows := func(i float64) kernels.Array {
		a, err := kernels.FromFloat64s(ir.Int32, ir.Shape{1}, []float64{i})
		check(err)
		return a
	}
	got, err := f.Run(context.Background(), distribute.PerReplica{rows(3), rows(3)}, distribute.PerReplica{vector(1), vector(2)})
	check(err)
	for _, v := range got.([]any) {
		fmt.Println(v.(distribute.PerReplica)[0].Float64s())
	}
	// Output:
	// [3 3]
	// [0 0 0 3]
}

func ExampleInputContext() {
	c := distribute.InputContext{NumInputPipelines: 2, InputPipelineID: 1, NumReplicasInSync: 4}
	n, err := c.PerReplicaBatchSize(64)
	check(err)
	fmt.Println(c, n)
	// Output: distribute.InputContext(input pipeline id 1, total: 2) 16
}

func numbersUpTo(n int) distribute.HostBatch {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return distribute.HostBatch{X: []kernels.Array{vector(values...)}}
}

func ExampleArrayDataset() {
	ds := &distribute.ArrayDataset{Examples: numbersUpTo(5), BatchSize: 2}
	for b, err := range ds.Batches(context.Background(), 0) {
		check(err)
		fmt.Print(b.X[0].Float64s())
	}
	fmt.Println()
	// Output: [0 1][2 3][4]
}

func ExampleDataset() {
	var ds distribute.Dataset = distribute.MakeNumpyDataset(nil, numbersUpTo(4)).Batch(4)
	for b, err := range ds.Batches(context.Background(), 0) {
		check(err)
		fmt.Println(b.Examples())
	}
	// Output: 4
}

// Each global batch is cut for the replicas; the last ones may get less, or nothing.
func ExampleDistributedDataset() {
	d, err := twoReplicas().DistributeDataset(distribute.MakeNumpyDataset(nil, numbersUpTo(5)).Batch(4))
	check(err)
	for b, err := range d.Batches(context.Background(), 0) {
		check(err)
		fmt.Println(b[0].X[0].Float64s(), b[1].X[0].Float64s())
	}
	// Output:
	// [0 1] [2 3]
	// [4] []
}

// One call can run many steps.
func ExampleDistributedIterator() {
	s := twoReplicas()
	total := distribute.NewVariable(distribute.VariableSpec{Name: "total", DType: ir.Float32, Aggregation: distribute.Sum})
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		r.AssignAdd(total, ops.Sum(in.X))
		return nil
	})
	d, err := s.DistributeDataset(distribute.MakeNumpyDataset(s, numbersUpTo(6)).Batch(2))
	check(err)
	it := d.Iterator(context.Background(), 0)
	defer it.Close()
	_, steps, err := it.Run(context.Background(), f, 100)
	check(err)
	value, err := total.Value()
	check(err)
	fmt.Println(steps, value.Element(0))
	// Output: 3 15
}

func ExampleOptional() {
	d, err := twoReplicas().DistributeDataset(distribute.MakeNumpyDataset(nil, numbersUpTo(2)).Batch(2))
	check(err)
	it := d.Iterator(context.Background(), 0)
	defer it.Close()
	for range 2 {
		o, err := it.GetNextAsOptional()
		check(err)
		fmt.Println(o.HasValue())
	}
	// Output:
	// true
	// false
}

func ExamplePerReplicaSpec() {
	d, err := twoReplicas().DistributeDataset(distribute.MakeNumpyDataset(nil, numbersUpTo(4)).Batch(2))
	check(err)
	x, _, _, err := d.ElementSpec(context.Background())
	check(err)
	fmt.Println(x[0].Replicas, x[0].DType, x[0].Shape)
	// Output: 2 float32 [-1]
}

// Options belong to one call.
func ExampleInputOptions() {
	_, err := twoReplicas().DistributeDataset(distribute.MakeNumpyDataset(nil, numbersUpTo(2)).Batch(2), distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
	fmt.Println(err)
	// Output: distribute: PerReplicaInput is only supported by DistributeDatasetsFromFunction, which can make a dataset for each replica
}

// With PerReplicaInput each replica reads a dataset of its own.
func ExampleInputReplicationMode() {
	d, err := twoReplicas().DistributeDatasetsFromFunction(func(c distribute.InputContext) (distribute.Dataset, error) {
		fmt.Println(c)
		return distribute.MakeNumpyDataset(nil, numbersUpTo(2)).Batch(2), nil
	}, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
	check(err)
	for b, err := range d.Batches(context.Background(), 0) {
		check(err)
		fmt.Println(b[0].X[0].Float64s(), b[1].X[0].Float64s())
	}
	// Output:
	// distribute.InputContext(input pipeline id 0, total: 2)
	// distribute.InputContext(input pipeline id 1, total: 2)
	// [0 1] [0 1]
}
