package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOpTable(t *testing.T) {
	names := map[string]Op{}
	for _, op := range Ops() {
		info := opTable[op]
		assert.NotEmpty(t, info.name, "op %d", op)
		assert.NotNil(t, info.infer, "%v", op)
		assert.True(t, info.max == -1 || info.max >= info.min, "%v", op)
		if other, taken := names[info.name]; taken {
			t.Errorf("ops %d and %d are both called %s", op, other, info.name)
		}
		names[info.name] = op
		assert.Equal(t, info.name, op.String())
		assert.True(t, op.IsComposite() || op.StableHLO() != "", "%v can neither be written as StableHLO nor decomposed", op)
	}
	assert.Len(t, names, int(opCount)-1)
	assert.Equal(t, "op(250)", Op(250).String())
}

func TestOpFamilies(t *testing.T) {
	for op, want := range map[Op][3]bool{ // elementwise, collective, composite
		Neg: {true, false, false}, Select: {true, false, false}, Convert: {true, false, false}, Relu: {true, false, true}, GeluGrad: {true, false, true}, Constant: {}, Reshape: {},
		Dot: {}, Scan: {}, Conv: {false, false, true}, OptimizerUpdate: {false, false, true}, AllReduce: {false, true, false},
		CollectiveBroadcast: {false, true, false}, ReplicaID: {},
	} {
		assert.Equal(t, want, [3]bool{op.IsElementwise(), op.IsCollective(), op.IsComposite()}, "%v", op)
	}
	for _, op := range Ops() {
		want := op.StableHLO() == "" || op >= Conv && op <= OptimizerUpdate // a backend must know how to do without it
		assert.Equal(t, want, op.IsComposite(), "%v", op)
	}
}
