//go:build linux

package cuda

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// arranging is a backend whose replicas combine values in an arrangement.
type arranging struct {
	*backend
	arrange func(n int) kernels.Arrangement
}

func (b arranging) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	return b.Arrange(ctx, o.Devices, b.arrange(len(o.Devices)))
}

// arrangements are of all kinds, for any number of replicas.
var arrangements = map[string]func(n int) kernels.Arrangement{
	"one device": func(n int) kernels.Arrangement {
		group := []int{n - 1}
		for i := range n - 1 {
			group = append(group, i)
		}
		return kernels.Arrangement{Groups: [][]int{group}}
	},
	"pairs, 3 packs": func(n int) kernels.Arrangement {
		a := kernels.Arrangement{Packs: 3}
		for i := 0; i < n; i += 2 {
			group := []int{i}
			if i+1 < n {
				group = append(group, i+1)
			}
			a.Groups = append(a.Groups, group)
		}
		return a
	},
	"a group and the rest": func(n int) kernels.Arrangement {
		a := kernels.Arrangement{Groups: [][]int{{0}}}
		for i := 1; i < n; i++ {
			if i == 2 {
				a.Groups[0] = append(a.Groups[0], i)
			} else {
				a.Groups = append(a.Groups, []int{i})
			}
		}
		return a
	},
	"ring":          func(int) kernels.Arrangement { return kernels.Arrangement{Ring: true} },
	"ring, 2 packs": func(int) kernels.Arrangement { return kernels.Arrangement{Ring: true, Packs: 2} },
}

// The suite of replicas, with every arrangement, between devices that reach each other's memory, that do in pairs, or
// that do not; with -failures 0 in all three.
func TestArrangedConformance(t *testing.T) {
	some := map[string]string{"one device": "peers", "pairs, 3 packs": "islands", "ring, 2 packs": "alone", "a group and the rest": "islands", "ring": "peers"}
	for name, arrange := range arrangements {
		for apart, noPeers := range map[string]func(a, b int) bool{"peers": nil, "islands": islands, "alone": func(_, _ int) bool { return true }} {
			if *failures > 0 && some[name] != apart {
				continue
			}
			t.Run(name+", "+apart, func(t *testing.T) {
				f := fakedriver.New(fakedriver.Options{Devices: 4, NoPeers: noPeers})
				kernelstest.RunReplicas(t, arranging{on(t, f), arrange}, kernels.Device{Kind: Kind})
			})
		}
	}
}

// Every call fails once, at some places, with -failures 0 at each, with every arrangement; see
// TestEveryCallFailsWithReplicas.
func TestEveryCallFailsArranged(t *testing.T) {
	const n = 3
	for name, arrange := range arrangements {
		if brief() && name != "ring, 2 packs" && name != "pairs, 3 packs" {
			continue
		}
		next := 0 // another place for each arrangement and call
		t.Run(name, func(t *testing.T) {
			options := fakedriver.Options{Devices: n, NoPeers: islands}
			start := func() (*fakedriver.Fake, arranging) {
				f := fakedriver.New(options)
				return f, arranging{newBackend(Kind, func() (driver.API, error) { return f, nil }), arrange}
			}
			f, b := start()
			require.NoError(t, several(t, b, n))
			require.NoError(t, f.Fault())
			calls := f.Calls()
			require.NoError(t, b.close())
			require.Empty(t, f.Alive())
			for _, call := range []string{"cuDeviceCanAccessPeer", "cuMemPoolSetAccess", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemHostAlloc", "cuMemAllocAsync", "cuModuleLoadDataEx"} {
				require.Positive(t, calls[call], call)
				for k := 1; k <= calls[call]; k++ {
					if next++; *failures > 0 && next%16 != 0 {
						continue
					}
					f, b := start()
					f.Fail(call, k)
					require.ErrorContains(t, several(t, b, n), call, "call %d", k)
					require.NoError(t, several(t, b, n), "after call %d of %s failed", k, call)
					require.NoError(t, f.Fault())
					require.NoError(t, b.close())
					require.Empty(t, f.Alive(), "after call %d of %s failed", k, call)
				}
			}
		})
	}
}

// What is copied to host memory does not grow with the values where devices reach each other's memory. Between islands
// it is what crosses, once: here the second leader's sum, and the result on its way back.
func TestArrangedStaysOnDevices(t *testing.T) {
	const bytes, n = 1 << 12, 4
	for _, c := range []struct {
		name, arrangement string
		apart             func(a, b int) bool
		crosses           int64
	}{
		{"peers", "one device", nil, 0},
		{"peers", "pairs, 3 packs", nil, 0},
		{"peers", "ring", nil, 0},
		{"islands", "pairs, 3 packs", islands, 2 * bytes},
		{"islands", "ring", islands, 2 * 2 * (n - 1) * bytes / n}, // over two edges of the ring
	} {
		t.Run(c.name+", "+c.arrangement, func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Devices: n, NoPeers: c.apart})
			b := on(t, f)
			var devices []kernels.Device
			for i := range n {
				devices = append(devices, kernels.Device{Kind: Kind, Index: i})
			}
			ends, err := b.Arrange(t.Context(), devices, arrangements[c.arrangement](n))
			require.NoError(t, err)
			g := ends[0].(*communicator).group
			defer func() {
				for _, end := range ends {
					end.Close()
				}
			}()
			copied := func(bytes int) int64 {
				x, err := g.exercise(t.Context(), bytes)
				require.NoError(t, err)
				defer x.end()
				before := downloaded(f)
				require.NoError(t, x.run(t.Context(), 1))
				return downloaded(f) - before
			}
			require.Equal(t, c.crosses, copied(2*bytes)-copied(bytes))
		})
	}
}

// downloaded is how many bytes were copied to host memory.
func downloaded(f *fakedriver.Fake) (sum int64) {
	for bytes, n := range f.Downloads() {
		sum += int64(bytes * n)
	}
	return sum
}

func TestArrangeBadInput(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Devices: 2}))
	var devices []kernels.Device
	for i := range 2 {
		devices = append(devices, kernels.Device{Kind: Kind, Index: i})
	}
	for text, a := range map[string]kernels.Arrangement{
		"expected each of the numbers from 0 to 1 once": {Groups: [][]int{{0}}},
		"groups [[0 2]]":        {Groups: [][]int{{0, 2}}},
		"one is empty":          {Groups: [][]int{{0, 1}, {}}},
		"received both":         {Groups: [][]int{{0, 1}}, Ring: true},
		"in -1 packs":           {Ring: true, Packs: -1},
		fmt.Sprint([]int{0, 0}): {Groups: [][]int{{0, 0}}},
	} {
		_, err := b.Arrange(t.Context(), devices, a)
		require.ErrorContains(t, err, text)
	}
	_, err := b.Arrange(t.Context(), []kernels.Device{devices[0], devices[0]}, kernels.Arrangement{Ring: true})
	require.ErrorContains(t, err, "named twice")
}
