package parameterserver_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

// runClosures schedules b.N closures and waits for them.
func runClosures(b *testing.B, j parameters.Job, name string) {
	b.Helper()
	b.ResetTimer()
	var last parameters.Pending
	for n := range b.N {
		p, err := j.Schedule(b.Context(), name, nil, -1)
		require.NoError(b, err)
		if n%64 == 63 { // not the whole run in the queue
			_, err := last.Fetch(b.Context())
			require.NoError(b, err)
		}
		if n%64 == 31 || last == nil {
			last = p
		}
	}
	require.NoError(b, j.Join(b.Context()))
	b.StopTimer()
}

// BenchmarkClosure is the coordinator's part: closures that do nothing.
func BenchmarkClosure(b *testing.B) {
	c := newCluster(b, 3, 1, func(o *parameterserver.Options) { o.InFlight = 8 })
	j := c.coordinate()
	c.register("nothing", func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
		return parameters.Outcome{}, nil
	})
	runClosures(b, j, "nothing")
}

// BenchmarkDense fetches and updates 10 MB in two shards, without computing gradients.
func BenchmarkDense(b *testing.B) {
	c := newCluster(b, 3, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	j := c.coordinate()
	v, _, err := j.Create(b.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2 * 1140, 1140}, Rule: parameters.Rule{Kind: parameters.SGD}})
	require.NoError(b, err)
	reader := c.workers[0]
	c.register("step", func(ctx context.Context, _ *parameters.Closure) (parameters.Outcome, error) {
		r := &parameters.Read{Variable: v}
		if err := reader.Pull(ctx, r); err != nil {
			return parameters.Outcome{}, err
		}
		return parameters.Outcome{Changes: []parameters.Change{{Variable: v, Op: parameters.Gradient, Rate: 0.1, Values: r.Values, Seen: r.Seen}}}, nil
	})
	b.SetBytes(2 * 4 * 2 * 1140 * 1140)
	runClosures(b, j, "step")
}

// BenchmarkEmbedding looks up 4,096 x 26 ids of a table of a million rows of 32 in two shards, and updates their rows.
func BenchmarkEmbedding(b *testing.B) {
	const rows, width, batch, fields = 1_000_000, 32, 4096, 26
	c := newCluster(b, 2, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	j := c.coordinate()
	v, _, err := j.Create(b.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{rows, width}, Rule: parameters.Rule{Kind: parameters.SGD}})
	require.NoError(b, err)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.2, 1, rows-1)
	var batches [8][]int64
	for i := range batches {
		for range batch * fields {
			batches[i] = append(batches[i], int64(zipf.Uint64()))
		}
	}
	reader := c.workers[0]
	var next atomic.Int64
	var distinct atomic.Int64
	c.register("step", func(ctx context.Context, _ *parameters.Closure) (parameters.Outcome, error) {
		ids, places := parameters.Distinct(batches[next.Add(1)%8])
		distinct.Add(int64(len(ids)))
		r := &parameters.Read{Variable: v, IDs: ids}
		if err := reader.Pull(ctx, r); err != nil {
			return parameters.Outcome{}, err
		}
		gradient := make([]float32, len(places)*width) // of each position
		for i, p := range places {
			for k, x := range r.Values[int(p)*width : (int(p)+1)*width] {
				gradient[i*width+k] = 2*x + 1
			}
		}
		sum := parameters.SumRows(len(ids), places, width, gradient)
		return parameters.Outcome{Changes: []parameters.Change{{Variable: v, Op: parameters.Gradient, Rate: 0.0001, IDs: ids, Values: sum, Seen: r.Seen}}}, nil
	})
	runClosures(b, j, "step")
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "examples/s")
	var wire uint64
	for _, s := range c.servers {
		st := s.Stats()
		wire += st.BytesRead + st.BytesWritten
	}
	need := float64(distinct.Load()) * (8 + 8 + 2*4*width) // ids both ways, rows both ways
	b.ReportMetric(float64(wire)/need, "wire/need")
}
