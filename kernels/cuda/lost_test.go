//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A process that does not come to a collective, whichever it is, leaves the others with an error that names their
// devices when the time is over, in NCCL and in windows; they meet again without it, and nothing stays behind.
func TestLostInEachCollective(t *testing.T) {
	t.Run("NCCL", func(t *testing.T) {
		lostInEachCollective(t, func() ([]*process, []member) {
			processes := newProcesses(3)
			return processes, newMembers(processes, 1, 1, 1)
		})
	})
	t.Run("windows", func(t *testing.T) {
		lostInEachCollective(t, func() ([]*process, []member) { return newNeighbours(3) })
	})
}

func lostInEachCollective(t *testing.T, form func() ([]*process, []member)) {
	type collective struct {
		op  ir.Op
		a   ir.CollectiveAttrs
		typ ir.DType
		out func(n int) ir.Shape // nil: in place
	}
	sum := ir.CollectiveAttrs{Kind: ir.Sum}
	for name, c := range map[string]collective{
		"all-reduce":                {ir.AllReduce, sum, ir.Float32, nil},
		"all-reduce, largest":       {ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Max}, ir.Float32, nil}, // gathered
		"all-reduce of 16 bits":     {ir.AllReduce, sum, ir.BFloat16, nil},                             // in shares
		"all-reduce, mean":          {ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Mean}, ir.Float32, nil},
		"all-gather":                {ir.AllGather, ir.CollectiveAttrs{}, ir.Float32, func(n int) ir.Shape { return ir.Shape{6 * n, 6} }},
		"all-gather, second axis":   {ir.AllGather, ir.CollectiveAttrs{Axis: 1}, ir.Float32, func(n int) ir.Shape { return ir.Shape{6, 6 * n} }},
		"broadcast":                 {ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: 1}, ir.Float32, nil},
		"reduce-scatter":            {ir.ReduceScatter, sum, ir.Float32, func(n int) ir.Shape { return ir.Shape{6 / n, 6} }},
		"reduce-scatter of 16 bits": {ir.ReduceScatter, sum, ir.Float16, func(n int) ir.Shape { return ir.Shape{6 / n, 6} }},
	} {
		t.Run(name, func(t *testing.T) {
			d := kernels.Device{Kind: Kind}
			run := func(m member, end kernels.Communicator, n int) (err error) {
				in, err := m.NewBuffer(d, ir.Type{DType: c.typ, Shape: ir.Shape{6, 6}})
				if err != nil {
					return err
				}
				defer in.Free()
				var out []kernels.Buffer
				if c.out != nil {
					b, err := m.NewBuffer(d, ir.Type{DType: c.typ, Shape: c.out(n)})
					if err != nil {
						return err
					}
					defer b.Free()
					out = append(out, b)
				}
				return end.(*communicator).call(context.Background(), c.op, c.a, []kernels.Buffer{in}, out)
			}
			connect := func(members []member) []kernels.Communicator {
				return each(len(members), func(i int) kernels.Communicator {
					ends, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{d}})
					if err != nil {
						t.Error(err)
						return nil
					}
					return ends[0]
				})
			}
			processes, members := form()
			ends := connect(members)
			require.False(t, t.Failed())
			for i, err := range each(3, func(i int) error { return run(members[i], ends[i], 3) }) {
				require.NoError(t, err, "process %d", i)
			}
			for _, end := range ends {
				l := end.(*communicator).group.link
				l.mu.Lock()
				l.timeout = 50 * time.Millisecond
				l.mu.Unlock()
			}
			for i, err := range each(2, func(i int) error { return run(members[2*i], ends[2*i], 3) }) {
				require.ErrorContains(t, err, "have waited for the others in "+ends[0].(*communicator).group.link.carrier.name()+" for", "survivor %d", i)
				require.ErrorContains(t, err, fmt.Sprintf("replicas %d to %d of 3 on [cuda:0]", 2*i, 2*i), "survivor %d", i)
			}
			ends[1].Abort(errors.New("gone"))
			rest := []*process{processes[0], processes[2]}
			library := members[0].options.Library
			members = newMembers(rest, 1, 1)
			for i := range members {
				members[i].options.Library = library
			}
			again := connect(members)
			require.False(t, t.Failed())
			for i, err := range each(2, func(i int) error { return run(members[i], again[i], 2) }) {
				require.NoError(t, err, "survivor %d", i)
			}
			each(5, func(i int) bool {
				append(ends, again...)[i].Close()
				return true
			})
			for i, p := range processes {
				require.NoError(t, p.clean(), "process %d", i)
			}
		})
	}
}
