package keras

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// Workers on asynchronous devices give the results of workers on CPUs bit for bit: if the devices connect the
// processes, if values go through host memory and the group, and if a worker is lost.
func TestWorkersOnAsynchronousDevices(t *testing.T) {
	connected := async.New(async.Options{Kind: "connected"})
	staged := async.New(async.Options{Kind: "staged", OneProcess: true})
	kernels.Register(connected)
	kernels.Register(staged)
	run := func(t *testing.T, kind string, e *distribute.Elastic, failAt int) []recoveryRun {
		h := newHub(2)
		h.kind, h.failAt, h.fails = kind, failAt, func(int) bool { return true }
		runs := h.runAll(e)
		for _, r := range runs {
			require.NoError(t, r.err)
		}
		return runs
	}
	for name, c := range map[string]struct {
		elastic *distribute.Elastic
		failAt  int
	}{"fixed": {}, "elastic": {elastic: &distribute.Elastic{}}, "a lost worker": {&distribute.Elastic{}, 20}} {
		t.Run(name, func(t *testing.T) {
			want := run(t, "", c.elastic, c.failAt)
			for _, b := range []*async.Backend{connected, staged} {
				before := b.Stats()
				require.Equal(t, want, run(t, b.Kind(), c.elastic, c.failAt), b.Kind())
				meets := b.Stats().Connections > before.Connections
				require.Equal(t, b == connected && c.elastic == nil, meets, "%s: whether the devices connect the processes", b.Kind())
			}
		})
	}
}
