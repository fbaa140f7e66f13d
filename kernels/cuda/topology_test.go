//go:build linux

package cuda

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
)

// Machines of three kinds: all GPUs reach each other, in two islands, none.
func TestTopology(t *testing.T) {
	for name, c := range map[string]struct {
		devices int
		noPeers func(a, b int) bool
		islands int
		want    string
	}{
		"switch":      {8, nil, 1, "meet in device memory: all-reduces below 256 KiB"},
		"two islands": {8, func(a, b int) bool { return a/4 != b/4 }, 2, "islands that meet in device memory: [[cuda:0 cuda:1 cuda:2 cuda:3] [cuda:4 cuda:5 cuda:6 cuda:7]]"},
		"none":        {3, func(_, _ int) bool { return true }, 3, "[[cuda:0] [cuda:1] [cuda:2]]"},
		"one":         {1, nil, 1, "one device"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Devices: c.devices, NoPeers: c.noPeers})
			links, err := on(t, f).links()
			require.NoError(t, err)
			assert.Len(t, links.Islands(), c.islands)
			assert.Contains(t, links.String(), c.want)
			rows := strings.Split(links.String(), "\n")
			for i := range c.devices {
				for j, word := range strings.Fields(rows[1+i])[1:] {
					want := "peer"
					if i == j {
						want = "self"
					} else if c.noPeers != nil && c.noPeers(i, j) {
						want = "host"
					}
					assert.Equal(t, want, word, "%d to %d", i, j)
				}
			}
		})
	}
	f := fakedriver.New(fakedriver.Options{Devices: 2})
	f.Fail("cuDeviceCanAccessPeer", 2)
	_, err := on(t, f).links()
	require.ErrorContains(t, err, "cuDeviceCanAccessPeer")
	b := newBackend(Kind, func() (driver.API, error) { return fakedriver.New(fakedriver.Options{Refuse: driver.NoDevice}), nil })
	_, err = b.links()
	require.ErrorContains(t, err, "finds no GPU")
}

func ExampleTopology() {
	t := Topology{Devices: []kernels.Device{{Kind: "cuda"}, {Kind: "cuda", Index: 1}}, Peers: [][]bool{{true, false}, {false, true}}}
	fmt.Print(t)
	// Output:
	//         cuda:0  cuda:1
	// cuda:0  self    host
	// cuda:1  host    self
	// replicas on all devices meet in pinned host memory; islands that meet in device memory: [[cuda:0] [cuda:1]]
}
