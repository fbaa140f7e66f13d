package reference

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// together runs one op on the operand of each replica.
func together(t *testing.T, op ir.Op, attrs ir.CollectiveAttrs, operands ...Value) [][]Value {
	t.Helper()
	inputs := make([][]Value, len(operands))
	for r, v := range operands {
		inputs[r] = []Value{v}
	}
	out, err := RunReplicas(single(t, op, attrs, operands[0]), inputs)
	require.NoError(t, err)
	return out
}

func TestAllReduce(t *testing.T) {
	shape := ir.Shape{2}
	for kind, want := range map[ir.Kind][]float64{ir.Sum: {9, 0}, ir.Max: {5, 4}, ir.Min: {1, -6}, ir.Mean: {3, 0}} {
		out := together(t, ir.AllReduce, ir.CollectiveAttrs{Kind: kind, Replicas: 3},
			tensor(t, ir.Float32, shape, 1, 2), tensor(t, ir.Float32, shape, 5, 4), tensor(t, ir.Float32, shape, 3, -6))
		for r := range out {
			assert.Equal(t, want, out[r][0].F, "%s on replica %d", kind, r)
		}
	}
	out := together(t, ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, tensor(t, ir.Int8, nil, 100), tensor(t, ir.Int8, nil, 100))
	assert.Equal(t, int64(-56), out[1][0].I[0], "integers wrap")
}

func TestGatherScatterBroadcast(t *testing.T) {
	shape := ir.Shape{2, 2}
	a, b := tensor(t, ir.Float32, shape, 1, 2, 3, 4), tensor(t, ir.Float32, shape, 5, 6, 7, 8)
	out := together(t, ir.AllGather, ir.CollectiveAttrs{Replicas: 2, Axis: 1}, a, b)
	assert.Equal(t, []float64{1, 2, 5, 6, 3, 4, 7, 8}, out[0][0].F)
	assert.Equal(t, out[0], out[1])
	out = together(t, ir.AllGather, ir.CollectiveAttrs{Replicas: 2}, a, b)
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, out[1][0].F)
	out = together(t, ir.ReduceScatter, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Axis: 1}, a, b)
	assert.Equal(t, []float64{6, 10}, out[0][0].F)
	assert.Equal(t, []float64{8, 12}, out[1][0].F)
	out = together(t, ir.CollectiveBroadcast, ir.CollectiveAttrs{Replicas: 2, Root: 1}, a, b)
	assert.Equal(t, b.F, out[0][0].F)
	assert.Equal(t, b.F, out[1][0].F)
}

func TestReplicaID(t *testing.T) {
	p := single(t, ir.ReplicaID, ir.CollectiveAttrs{Replicas: 3})
	out, err := RunReplicas(p, make([][]Value, 3))
	require.NoError(t, err)
	for r := range out {
		assert.Equal(t, int64(r), out[r][0].I[0])
	}
	_, err = RunReplicas(p, make([][]Value, 2))
	assert.ErrorContains(t, err, "for 3 replicas, but 2 run")
}

// Many meetings in a row, inside a loop, keep their order.
func TestManyMeetings(t *testing.T) {
	body := ir.New("body")
	c := body.AddInput("c", ir.Type{DType: ir.Int64})
	sum, err := body.Add("", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 4}, c)
	require.NoError(t, err)
	body.AddOutput("c", sum[0])
	x := tensor(t, ir.Int64, nil, 1)
	p := single(t, ir.Scan, ir.ScanAttrs{Body: body, Length: 20, Carry: 1}, x)
	out, err := RunReplicas(p, [][]Value{{x}, {x}, {x}, {x}})
	require.NoError(t, err)
	for r := range out {
		assert.Equal(t, int64(1<<40), out[r][0].I[0])
	}
}

// A replica that fails, or that goes another way than its peers, ends them all.
func TestReplicaFailure(t *testing.T) {
	table, attrs := tensor(t, ir.Float32, ir.Shape{2}, 1, 2), ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}
	p := ir.New("failing")
	x, where := p.AddInput("x", table.Type), p.AddInput("where", ir.Type{DType: ir.Int32})
	row, err := p.Add("", ir.Gather, ir.GatherAttrs{}, x, where)
	require.NoError(t, err)
	sum, err := p.Add("", ir.AllReduce, attrs, row[0])
	require.NoError(t, err)
	p.AddOutput("y", sum[0])
	_, err = RunReplicas(p, [][]Value{{table, tensor(t, ir.Int32, nil, 0)}, {table, tensor(t, ir.Int32, nil, 2)}})
	assert.ErrorContains(t, err, "index 2 (element 0 of the indices) is outside axis 0 of length 2")

	branch := func(op ir.Op) *ir.Program {
		b := ir.New("branch")
		v := b.AddInput("v", ir.Type{DType: ir.Float32})
		if op != ir.OpInvalid {
			out, err := b.Add("", op, attrs, v)
			require.NoError(t, err)
			v = out[0]
		}
		b.AddOutput("v", v)
		return b
	}
	for otherwise, message := range map[ir.Op]string{
		ir.OpInvalid:           "1 of 2 replicas wait at a collective that the others ended without",
		ir.CollectiveBroadcast: "replica 0 is at all_reduce, replica 1 at collective_broadcast",
	} {
		one := tensor(t, ir.Float32, nil, 1)
		choice := single(t, ir.Cond, ir.CondAttrs{Then: branch(ir.AllReduce), Else: branch(otherwise)}, tensor(t, ir.Bool, nil, 1), one)
		_, err = RunReplicas(choice, [][]Value{{tensor(t, ir.Bool, nil, 1), one}, {tensor(t, ir.Bool, nil, 0), one}})
		assert.ErrorContains(t, err, message)
	}
}

func TestCollectiveWithoutPeers(t *testing.T) {
	x := tensor(t, ir.Float32, nil, 3)
	assert.Equal(t, 3.0, eval(t, ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Mean, Replicas: 1}, x)[0].F[0])
	_, err := Run(single(t, ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, x), []Value{x})
	assert.ErrorContains(t, err, "for 2 replicas, but 1 run")
}
