package keras

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// resizing is a group whose number of workers changes from one collective to the next.
type resizing struct {
	distribute.WorkerGroup
	t    *testing.T
	size int
}

func (g *resizing) Size() int { return g.size }

func (g *resizing) AllReduce(_ context.Context, _ distribute.WorkerCall, _ ir.Kind, values []kernels.Array) error {
	require.Len(g.t, values, 1)
	require.Len(g.t, values[0].Data, values[0].Type.Bytes(), "the array is as long as its type says")
	require.Equal(g.t, ir.Shape{32 * g.size}, values[0].Type.Shape)
	return nil
}

// The state that replicas exchange fits the current group, whatever sizes earlier groups had, and whether their steps
// were kept or not.
func TestSharedStateOfGroupsThatChange(t *testing.T) {
	g := &resizing{t: t}
	s := &shared{Metrics: 32, next: make([][]kernels.Buffer, 1)}
	for code := range 1 << 12 {
		for c := code; c > 0; c >>= 2 {
			g.size = 2 + c&1
			require.NoError(t, s.exchange(t.Context(), g, 0))
			if c&2 != 0 {
				s.keep()
			}
		}
	}
}

// joining is a group of one worker that reduces flags together with sums.
type joining struct{}

func (joining) Attach([]byte)  {}
func (joining) Attached() bool { return true }

// After a step that followed a long one the workers agree separately: the flags in the sum were sent too early for all
// to learn of the end of a context within the grace period.
func TestLongStepsAgreeAfterwards(t *testing.T) {
	m := &Model{compiled: &compiled{config: CompileConfig{StepsPerExecution: 1}}}
	w := &together{outer: t.Context(), riding: joining{}}
	fit := &trainer{m: m, now: &fitRun{}, workers: w, list: callbacks.NewList(nil, m, callbacks.Params{})}
	step := func(after time.Duration) bool {
		w.began = w.began.Add(-after)
		fit.attach()
		fit.detach()
		return w.ridden
	}
	require.False(t, step(0), "nobody knows how long steps are")
	require.True(t, step(0))
	require.False(t, step(stopGrace/2))
	require.True(t, step(0))
}
