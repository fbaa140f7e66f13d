package distribute_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestInputVectors(t *testing.T) {
	handlers{
		"split.": splitBatches, "split.drop_remainder": splitBatches, "from_function.uneven": fromFunctionUneven,
		"from_function.infinite": fromFunctionInfinite, "from_function.not_a_dataset": notADataset,
		"from_function.after_per_replica_mode": optionsDoNotLeak, "spec.distribute_dataset": elementSpec, "iterate.": iterate,
		"dynamic.short_batch": shortBatch, "rebatch.static_table": rebatchTable,
	}.run(t, "testdata/tf_input.json.gz")
}

// rangeDataset counts from first, total numbers.
func rangeDataset(t testing.TB, first, total int) *distribute.ArrayDataset {
	t.Helper()
	values := make([]float64, total)
	for i := range values {
		values[i] = float64(first + i)
	}
	return &distribute.ArrayDataset{Examples: distribute.HostBatch{X: []kernels.Array{array(t, ir.Int64, ir.Shape{total}, values...)}}}
}

// steps lists the elements of all steps by replica, as recorded: [step][replica][element].
func steps(t testing.TB, d *distribute.DistributedDataset) [][][]float64 {
	t.Helper()
	var out [][][]float64
	for batch, err := range d.Batches(t.Context(), 0) {
		require.NoError(t, err)
		step := [][]float64{}
		for _, part := range batch {
			step = append(step, part.X[0].Float64s())
		}
		out = append(out, step)
	}
	return out
}

func recordedSteps(t testing.TB, v any) [][][]float64 {
	t.Helper()
	var out [][][]float64
	for _, s := range v.([]any) {
		step := [][]float64{}
		for _, part := range s.([]any) {
			values := []float64{}
			for _, e := range part.([]any) {
				values = append(values, tfvectors.Number(t, e))
			}
			step = append(step, values)
		}
		out = append(out, step)
	}
	return out
}

func number(t testing.TB, v any) int { return int(tfvectors.Number(t, v)) }

func splitBatches(t *testing.T, c *tfvectors.Case) {
	ds := rangeDataset(t, 0, number(t, c.Inputs["total"])).Batch(number(t, c.Inputs["global_batch"]))
	ds.DropRemainder = strings.HasPrefix(c.ID, "split.drop_remainder")
	d, err := strategyOf(t, c).DistributeDataset(ds)
	require.NoError(t, err)
	got := steps(t, d)
	if want := c.Map(t)["elements"]; want != nil {
		require.Equal(t, recordedSteps(t, want), got)
	}
	var sizes [][]float64
	for _, step := range got {
		var row []float64
		for _, part := range step {
			row = append(row, float64(len(part)))
		}
		sizes = append(sizes, row)
	}
	switch want := c.Map(t)["sizes"].(type) {
	case []any:
		for i, row := range want {
			require.Equal(t, tfvectors.Values(t, row), sizes[i])
		}
		require.Len(t, sizes, len(want))
	case map[string]any:
		require.Len(t, sizes, number(t, want["steps"]))
		for _, row := range sizes {
			require.Equal(t, tfvectors.Values(t, want["each"]), row)
		}
	}
}

// fromFunctionUneven: the cases of 3 and more replicas were recorded after TensorFlow had kept the option PER_REPLICA
// of another call.
func fromFunctionUneven(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for name, want := range c.Map(t) {
		var contexts [][]float64
		f := func(ic distribute.InputContext) (distribute.Dataset, error) {
			contexts = append(contexts, []float64{float64(ic.NumInputPipelines), float64(ic.InputPipelineID), float64(ic.NumReplicasInSync)})
			ds := rangeDataset(t, 0, number(t, c.Inputs["total"])).Batch(number(t, c.Inputs["batch"]))
			ds.DropRemainder = name == "drop_remainder"
			return ds, nil
		}
		var options []distribute.InputOptions
		wanted := tfvectors.Get(want, "contexts").([]any)
		if len(wanted) > 1 {
			options = append(options, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
		}
		d, err := s.DistributeDatasetsFromFunction(f, options...)
		require.NoError(t, err)
		require.Len(t, contexts, len(wanted))
		for i := range wanted {
			require.Equal(t, tfvectors.Values(t, wanted[i]), contexts[i])
		}
		require.Equal(t, recordedSteps(t, tfvectors.Get(want, "elements")), steps(t, d), name)
	}
}

func fromFunctionInfinite(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	n := c.Replicas()
	var options []distribute.InputOptions
	if n > 2 { // see fromFunctionUneven
		options = append(options, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
	}
	d, err := s.DistributeDatasetsFromFunction(func(ic distribute.InputContext) (distribute.Dataset, error) {
		size, err := ic.PerReplicaBatchSize(5 * n)
		ds := rangeDataset(t, 0, 100).Batch(size)
		ds.Repeat = true
		return ds, err
	}, options...)
	require.NoError(t, err)
	it := d.Iterator(t.Context(), 0)
	defer it.Close()
	var sums []float64
	for range 3 {
		batch, err := it.Next()
		require.NoError(t, err)
		var x distribute.PerReplica
		for _, part := range batch {
			x = append(x, part.X[0])
		}
		local, err := onReplicas(t, s, func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { return ops.Sum(x) }, x)
		require.NoError(t, err)
		total, err := s.Reduce(distribute.Sum, local)
		require.NoError(t, err)
		sums = append(sums, total.Element(0))
	}
	c.Close(t, "sums", c.Map(t)["sums"], sums)
}

func notADataset(t *testing.T, c *tfvectors.Case) {
	_, err := strategyOf(t, c).DistributeDatasetsFromFunction(func(distribute.InputContext) (distribute.Dataset, error) { return nil, nil })
	require.ErrorContains(t, err, "the function returned no dataset for pipeline 0")
	require.True(t, tfvectors.IsError(c.Expected))
}

// Options of one call do not reach the next.
func optionsDoNotLeak(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	var contexts [][]float64
	f := func(ic distribute.InputContext) (distribute.Dataset, error) {
		contexts = append(contexts, []float64{float64(ic.NumInputPipelines), float64(ic.InputPipelineID), float64(ic.NumReplicasInSync)})
		return rangeDataset(t, 0, 4).Batch(2), nil
	}
	_, err := s.DistributeDatasetsFromFunction(f, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
	require.NoError(t, err)
	contexts = nil
	_, err = s.DistributeDatasetsFromFunction(f)
	require.NoError(t, err)
	require.Len(t, contexts, 1)
	c.Close(t, "contexts", tfvectors.Get(c.Right(), "contexts"), contexts[0])
}

func elementSpec(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	rows, global := number(t, c.Inputs["rows"]), number(t, c.Inputs["global_batch"])
	examples := distribute.HostBatch{
		X: []kernels.Array{kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, 3}})},
		Y: []kernels.Array{kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{rows}})},
	}
	for name, want := range c.Map(t) {
		ds := distribute.MakeNumpyDataset(s, examples).Batch(global)
		ds.DropRemainder = name == "drop_remainder"
		d, err := s.DistributeDataset(ds)
		if name == "from_function" {
			d, err = s.DistributeDatasetsFromFunction(func(distribute.InputContext) (distribute.Dataset, error) { return ds, nil })
		}
		require.NoError(t, err)
		x, y, w, err := d.ElementSpec(t.Context())
		require.NoError(t, err)
		require.Empty(t, w)
		for _, part := range []struct {
			want any
			got  distribute.PerReplicaSpec
		}{{tfvectors.Get(want, 0), x[0]}, {tfvectors.Get(want, 1, "y"), y[0]}} {
			var shape []int
			for _, n := range tfvectors.Get(part.want, "shape").([]any) {
				if n == nil {
					n = -1.0
				}
				shape = append(shape, number(t, n))
			}
			require.Equal(t, shape, part.got.Shape, name)
			require.Equal(t, number(t, tfvectors.Get(part.want, "components")), part.got.Replicas)
			require.Equal(t, tfvectors.Get(part.want, "dtype"), part.got.DType.String())
		}
	}
}

func iterate(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	want := c.Map(t)
	open := func(ds distribute.Dataset) *distribute.DistributedIterator {
		d, err := s.DistributeDataset(ds)
		require.NoError(t, err)
		return d.Iterator(t.Context(), 0)
	}
	require.True(t, tfvectors.IsError(want["unbatched"]))
	_, err := open(rangeDataset(t, 0, 4)).Next()
	require.ErrorContains(t, err, "the dataset has no batches; call Batch")

	it := open(rangeDataset(t, 0, 4).Batch(3))
	for i, entry := range want["optional"].([]any) {
		o, err := it.GetNextAsOptional()
		require.NoError(t, err)
		require.Equal(t, tfvectors.Get(entry, 0), o.HasValue(), i)
		batch, err := o.Value()
		if !o.HasValue() {
			require.ErrorContains(t, err, "the optional has no value")
			continue
		}
		require.NoError(t, err)
		for k, part := range recordedSteps(t, []any{tfvectors.Get(entry, 1)})[0] {
			require.Equal(t, part, batch[k].X[0].Float64s())
		}
	}
	require.True(t, tfvectors.IsError(want["past_end"]))
	_, err = it.Next()
	require.Equal(t, io.EOF, err)
	require.True(t, tfvectors.IsError(want["next_in_replica"]))
	nextInReplica(t, s)
	if v := want["unbatched_vectors"]; v != nil { // vectors count as batches
		ds := rangeDataset(t, 1, 6).Batch(3)
		d, err := s.DistributeDataset(ds)
		require.NoError(t, err)
		require.Equal(t, recordedSteps(t, v), steps(t, d))
	}

	total := 0.0
	d, err := s.DistributeDataset(rangeDataset(t, 0, 7).Batch(4))
	require.NoError(t, err)
	for _, step := range steps(t, d) {
		for _, part := range step {
			for _, x := range part {
				total += x
			}
		}
	}
	c.Close(t, "for_in_function", want["for_in_function"], []float64{total})

	_, err = s.DistributeDataset(rangeDataset(t, 0, 4).Batch(2), distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput})
	require.ErrorContains(t, err, "only supported by DistributeDatasetsFromFunction")
	var contexts []any
	d, err = s.DistributeDatasetsFromFunction(func(ic distribute.InputContext) (distribute.Dataset, error) {
		contexts = append(contexts, []any{float64(ic.NumInputPipelines), float64(ic.InputPipelineID), float64(ic.NumReplicasInSync)})
		return rangeDataset(t, 100*ic.InputPipelineID, 4).Batch(2), nil
	}, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput, NoFetchToDevice: true, PlaceDatasetOnDevice: true})
	require.NoError(t, err)
	require.Equal(t, tfvectors.Get(want, "per_replica_mode", "contexts"), contexts)
	require.Equal(t, recordedSteps(t, tfvectors.Get(want, "per_replica_mode", "elements")), steps(t, d))
}

func shortBatch(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	data := arrayOf(t, ir.Float32, c.Inputs["data"])
	ds := (&distribute.ArrayDataset{Examples: distribute.HostBatch{X: []kernels.Array{data}}}).Batch(number(t, c.Inputs["global_batch"]))
	d, err := s.DistributeDataset(ds)
	require.NoError(t, err)
	var x distribute.PerReplica
	for batch, err := range d.Batches(t.Context(), 0) {
		require.NoError(t, err)
		for _, part := range batch {
			x = append(x, part.X[0])
		}
	}
	f := distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any {
		x := args[0].(*ops.Tensor)
		return map[string]any{"mean": ops.Mean(x), "sum": ops.Sum(x), "size": ops.Full(x, ir.Float32, float64(x.Dim(0))), "double": ops.Add(x, x)}
	})
	defer f.Close()
	got, err := f.Run(t.Context(), x)
	require.NoError(t, err)
	mean, err := s.Reduce(distribute.Mean, x, 0)
	require.NoError(t, err)
	for _, mode := range []string{"eager", "traced"} {
		want := c.Map(t)[mode]
		for _, name := range []string{"mean", "sum", "size"} {
			c.Close(t, name, tfvectors.Get(want, name), flat(tfvectors.Get(got, name).(distribute.PerReplica)))
		}
		for i, part := range tfvectors.Get(want, "double").([]any) {
			c.Close(t, fmt.Sprint("double ", i), part, tfvectors.Get(got, "double").(distribute.PerReplica)[i].Float64s())
		}
		c.Close(t, "reduce_mean_axis0", tfvectors.Get(want, "reduce_mean_axis0"), mean.Float64s())
	}
}

func rebatchTable(t *testing.T, c *tfvectors.Case) {
	for _, row := range c.Inputs["rows"].([]any) {
		n := tfvectors.Values(t, row)
		want := c.Map(t)[fmt.Sprintf("G=%v,W=%v,R=%v", n[0], n[1], n[2])]
		for w := range int(n[1]) {
			sizes, err := distribute.BatchSizesForWorker(int(n[0]), int(n[1]), int(n[2]), w)
			require.NoError(t, err)
			got := make([]float64, len(sizes))
			for i, x := range sizes {
				got[i] = float64(x)
			}
			c.Close(t, fmt.Sprint(row, w), tfvectors.Get(want, fmt.Sprint("worker", w)), got)
		}
	}
	_, err := distribute.BatchSizesForWorker(4, 2, 1, 2)
	require.ErrorContains(t, err, "worker 2 of 2")
}

// nextInReplica reads data inside a step function, where that is an error, and in another goroutine meanwhile, where it
// is none.
func nextInReplica(t *testing.T, s distribute.Strategy) {
	t.Helper()
	d, err := s.DistributeDataset(rangeDataset(t, 0, 8).Batch(4))
	require.NoError(t, err)
	it := d.Iterator(t.Context(), 0)
	defer it.Close()
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		other := make(chan error)
		go func() {
			_, err := d.Iterator(t.Context(), 0).Next()
			other <- err
		}()
		require.NoError(t, <-other)
		for _, err := range d.Batches(t.Context(), 0) {
			require.ErrorContains(t, err, "inside a step function")
		}
		_, err := it.GetNextAsOptional()
		require.ErrorContains(t, err, "inside a step function")
		if _, err := it.Next(); err != nil {
			ops.Fail(r.Graph(), err)
		}
		return in.X
	})
	defer step.Close()
	batch, err := it.Next()
	require.NoError(t, err)
	_, err = s.Run(t.Context(), step, batch)
	require.ErrorContains(t, err, "pass the batch to Run")
	_, err = it.Next()
	require.NoError(t, err, "outside all is well")
}
