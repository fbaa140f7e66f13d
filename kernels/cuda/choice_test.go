//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// clock measures nothing but says how long a way takes, after one run.
func clock(speeds map[string][3]int) func(way string, bytes int, run func(times int) error) (time.Duration, error) {
	return func(way string, bytes int, run func(times int) error) (time.Duration, error) {
		for i, size := range choiceSizes {
			if size == bytes {
				return time.Duration(speeds[way][i]), run(1)
			}
		}
		return 0, fmt.Errorf("no time for %d bytes", bytes)
	}
}

// sizedChoices makes the sums that are timed small, since devices are fakes.
func sizedChoices(t *testing.T) {
	usual := choiceSizes
	choiceSizes = []int{256, 1024, 4096}
	t.Cleanup(func() { choiceSizes = usual })
}

// Ways are compared size by size; the second is chosen from where it stays faster.
func TestFrom(t *testing.T) {
	for _, c := range []struct {
		first, second [3]int
		want          int
	}{
		{[3]int{1, 2, 3}, [3]int{2, 3, 4}, never},
		{[3]int{1, 2, 3}, [3]int{2, 3, 2}, choiceSizes[2]},
		{[3]int{1, 4, 3}, [3]int{2, 3, 2}, choiceSizes[1]},
		{[3]int{3, 4, 3}, [3]int{2, 3, 2}, 0},
		{[3]int{3, 4, 3}, [3]int{2, 3, 3}, never},
	} {
		durations := func(x [3]int) []time.Duration {
			return []time.Duration{time.Duration(x[0]), time.Duration(x[1]), time.Duration(x[2])}
		}
		require.Equal(t, c.want, from(durations(c.first), durations(c.second)), "%+v", c)
	}
}

// Processes that could meet in windows and through NCCL choose alike although they measure differently: the slowest
// counts. Then small sums go one way and large ones the other.
func TestChoiceOfProcesses(t *testing.T) {
	sizedChoices(t)
	slow := map[string][3]int{atOnce: {1, 8, 80}, byShares: {9, 9, 60}, throughNCCL: {20, 20, 30}}
	fast := map[string][3]int{atOnce: {1, 1, 1}, byShares: {1, 1, 1}, throughNCCL: {2, 2, 2}} // alone it would choose windows
	w := fakenccl.NewWorld()
	processes := []*process{newNeighbour(w, 0, fakedriver.Options{}), newNeighbour(w, 1, fakedriver.Options{})}
	for i, p := range processes {
		p.openNCCL = func() (nccl.API, error) { return p.library, nil }
		p.measure = clock([]map[string][3]int{fast, slow}[i])
	}
	members := newMembers(processes, 1, 1)
	for i := range members {
		members[i].options.Library = ""
	}
	all := crews(t, members, 1, 1)
	for _, c := range all {
		g := c.comms[0].(*communicator).group
		require.Equal(t, 4096, g.choice.shares)
		require.Equal(t, 4096, g.choice.nccl)
		require.Equal(t, "in windows below 4 KiB, else through NCCL; in one go below 4 KiB, else in shares", g.choice.String())
	}
	reduced := processes[0].library.Calls()["ncclAllReduce"]
	const steps = captureAfter + 2
	for step := range steps {
		for _, errs := range each(2, func(i int) []error { return all[i].step() }) {
			require.NoError(t, errors.Join(errs...))
		}
		weighs(t, all, step+1, 2)
	}
	require.Equal(t, reduced, processes[0].library.Calls()["ncclAllReduce"], "small values meet in windows")
	large := each(2, func(i int) error {
		x, err := all[i].comms[0].(*communicator).group.exercise(t.Context(), 8192)
		require.NoError(t, err)
		defer x.end()
		return x.run(t.Context(), captureAfter+2)
	})
	require.NoError(t, errors.Join(large...))
	require.Greater(t, processes[0].library.Calls()["ncclAllReduce"], reduced)
	closeAll(all)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}

// Replicas of one process choose once; a way that cannot be timed is an error that names it. Real times choose too.
func TestChoiceOfReplicas(t *testing.T) {
	sizedChoices(t)
	f := fakedriver.New(fakedriver.Options{Devices: 2})
	b := newBackend(Kind, func() (driver.API, error) { return f, nil })
	measured := 0
	b.measure = func(way string, bytes int, run func(times int) error) (time.Duration, error) {
		measured++
		return clock(map[string][3]int{atOnce: {1, 2, 3}, byShares: {2, 1, 2}})(way, bytes, run)
	}
	for range 2 {
		c, err := newCrew(t, b, 2)
		require.NoError(t, err)
		require.Equal(t, 1024, c.comms[0].(*communicator).group.choice.shares)
		for range captureAfter + 2 {
			require.NoError(t, errors.Join(c.step()...))
		}
		weighs(t, []*crew{c}, captureAfter+2, 2)
		c.Close()
	}
	require.Equal(t, 6, measured)
	text, err := b.measured(t.Context())
	require.NoError(t, err)
	require.Equal(t, "in one go below 1 KiB, else in shares", text)
	clear(b.choices)
	b.measure = timed
	c, err := newCrew(t, b, 2)
	require.NoError(t, err)
	require.NotEmpty(t, c.comms[0].(*communicator).group.choice.String())
	c.Close()
	clear(b.choices)
	b.measure = func(string, int, func(int) error) (time.Duration, error) { return 0, errors.New("no clock") }
	_, err = b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: b.Devices()})
	require.EqualError(t, err, "cuda: timing sums in one go: no clock")
	require.NoError(t, f.Fault())
	require.NoError(t, b.close())
	require.Empty(t, f.Alive())
}
