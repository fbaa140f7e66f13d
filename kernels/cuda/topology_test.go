//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
)

// Machines of three kinds: all GPUs reach each other, in two islands, none.
func TestTopology(t *testing.T) {
	for name, c := range map[string]struct {
		devices int
		noPeers func(a, b int) bool
		islands int
		want    string
	}{
		"switch":      {8, nil, 1, "meet in device memory: small all-reduces in one go"},
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
	// replicas meet in device memory within islands, in pinned host memory between them; islands that meet in device memory: [[cuda:0] [cuda:1]]
}

// The management library reports how devices are connected, whatever the order in which the driver shows them, and how
// much memory is taken.
func TestPaths(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Devices: 2}))
	machine := nvml.Machine{Driver: "550.54.15", GPUs: []nvml.GPU{
		{UUID: "GPU-c", Bus: nvml.BusOf(0, fakedriver.FirstBus+7, 0)}, // not shown to this process
		{UUID: "GPU-b", Bus: nvml.BusOf(0, fakedriver.FirstBus+1, 0), Used: 3 << 30},
		{UUID: "GPU-a", Bus: nvml.BusOf(0, fakedriver.FirstBus, 0), Used: 1 << 30},
	}}
	for i := range machine.GPUs {
		machine.Links = append(machine.Links, make([]nvml.Link, 3))
		for j := range machine.GPUs {
			machine.Links[i][j] = nvml.Link{Level: nvml.System}
		}
		machine.Links[i][i].Level = nvml.Board
	}
	machine.Links[1][2] = nvml.Link{NVLinks: 4, Level: nvml.Bridge}
	machine.Links[2][1] = nvml.Link{Level: nvml.Bridge}
	b.survey = func() (nvml.Machine, error) { return machine, nil }
	links, err := b.links()
	require.NoError(t, err)
	require.Equal(t, [][]string{{"board", "PHB"}, {"NV4", "board"}}, links.Paths)
	require.Contains(t, links.String(), "cuda:1     peer NV4   self\n")
	gpus, err := b.gpus()
	require.NoError(t, err)
	require.Contains(t, gpus[0].String(), "(release 550.54.15), 1.0 GiB taken, GPU-a at 00000000:A0:00.0")
	require.EqualValues(t, 3<<30, gpus[1].Used)

	machine.GPUs = machine.GPUs[:2] // it does not know device 0
	links, err = b.links()
	require.NoError(t, err)
	require.Nil(t, links.Paths)
	b.survey = func() (nvml.Machine, error) { return nvml.Machine{}, errors.New("there is no library") }
	links, err = b.links()
	require.NoError(t, err)
	require.Nil(t, links.Paths)
	gpus, err = b.gpus()
	require.NoError(t, err)
	require.Empty(t, gpus[0].UUID)
	require.NotContains(t, gpus[0].String(), "taken")
}

// Devices are grouped by NVLink, also over several hops, else by host bridges, else by who reaches whose memory.
func TestGroups(t *testing.T) {
	machine := func(link func(i, j int) nvml.Link) func() (nvml.Machine, error) {
		m := nvml.Machine{}
		for i := range 6 {
			m.GPUs = append(m.GPUs, nvml.GPU{Bus: nvml.BusOf(0, fakedriver.FirstBus+i, 0)})
			m.Links = append(m.Links, nil)
			for j := range 6 {
				m.Links[i] = append(m.Links[i], link(i, j))
			}
		}
		return func() (nvml.Machine, error) { return m, nil }
	}
	for name, c := range map[string]struct {
		devices []int
		survey  func() (nvml.Machine, error)
		want    [][]int
	}{
		"a chain and a pair": {[]int{0, 1, 4, 2, 3, 5}, machine(func(i, j int) nvml.Link {
			if max(i, j) < 4 && (i-j == 1 || j-i == 1) || min(i, j) == 4 && i != j {
				return nvml.Link{NVLinks: 1}
			}
			return nvml.Link{Level: nvml.Bridge}
		}), [][]int{{0, 1, 3, 4}, {2, 5}}},
		"two bridges": {[]int{0, 1, 2, 4, 3, 5}, machine(func(i, j int) nvml.Link {
			return nvml.Link{Level: map[bool]nvml.Level{true: nvml.Bridge, false: nvml.System}[i%2 == j%2]}
		}), [][]int{{0, 2, 3}, {1, 4, 5}}},
		"no library": {[]int{0, 1, 3, 4, 2, 5}, func() (nvml.Machine, error) { return nvml.Machine{}, errors.New("none") }, [][]int{{0, 1, 4}, {2, 3, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := on(t, fakedriver.New(fakedriver.Options{Devices: 6, NoPeers: func(x, y int) bool { return x/3 != y/3 }}))
			b.survey = c.survey
			var devices []kernels.Device
			for _, i := range c.devices {
				devices = append(devices, kernels.Device{Kind: Kind, Index: i})
			}
			require.Equal(t, c.want, b.Groups(devices))
		})
	}
	require.Nil(t, newBackend(Kind, func() (driver.API, error) { return nil, errors.New("no driver") }).Groups([]kernels.Device{{Kind: Kind}}))
}
