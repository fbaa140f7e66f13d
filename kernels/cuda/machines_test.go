//go:build linux

package cuda

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
	"github.com/gokeras/gokeras/layers"
)

// Machines of eight GPUs, as the management library and the driver tell of them: all on one NVSwitch, in two islands of
// four with NVLinks in a ring, and on PCIe alone, below two sockets. On each the table of the topology says so, values
// are combined along the connections, and training comes to what it comes to on CPUs, with every way to combine.
func TestMachines(t *testing.T) {
	network := func() []layers.Layer { return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3}} }
	for _, c := range []struct {
		name   string
		apart  func(a, b int) bool // do not reach each other's memory
		link   func(a, b int) nvml.Link
		groups [][]int
		row    string // of the second device
	}{
		{"switch", nil, func(_, _ int) nvml.Link { return nvml.Link{NVLinks: 18, Level: nvml.System} }, [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}, "peer NV18 self peer NV18 peer NV18"},
		{"islands", func(a, b int) bool { return a/4 != b/4 }, func(a, b int) nvml.Link {
			if d := (a - b + 8) % 4; a/4 == b/4 && d != 2 {
				return nvml.Link{NVLinks: 2, Level: nvml.Switches}
			}
			return nvml.Link{Level: nvml.System}
		}, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, "peer NV2 self peer NV2 peer SYS host SYS"},
		{"pcie", func(_, _ int) bool { return true }, func(a, b int) nvml.Link {
			return nvml.Link{Level: map[bool]nvml.Level{true: nvml.Bridge, false: nvml.System}[a/4 == b/4]}
		}, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, "host PHB self host PHB host PHB host SYS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Devices: 8, NoPeers: c.apart})
			kind := fmt.Sprint(c.name, made.Add(1), "cuda")
			b := newBackend(kind, func() (driver.API, error) { return f, nil })
			library := fakenccl.New(fakenccl.NewWorld(), f)
			b.openNCCL = func() (nccl.API, error) { return library, nil }
			var m nvml.Machine
			for i := range 8 {
				m.GPUs, m.Links = append(m.GPUs, nvml.GPU{Bus: nvml.BusOf(0, fakedriver.FirstBus+i, 0)}), append(m.Links, make([]nvml.Link, 8))
				for j := range 8 {
					if i != j {
						m.Links[i][j] = c.link(i, j)
					}
				}
			}
			b.survey = func() (nvml.Machine, error) { return m, nil }
			kernels.Register(b)
			links, err := b.links()
			require.NoError(t, err)
			require.Regexp(t, fmt.Sprintf(`(?m)^%s:1 +%s`, kind, strings.Join(strings.Fields(c.row), " +")), links.String())
			require.Equal(t, c.groups, b.Groups(b.Devices()))
			for _, n := range []int{2, 5, 8} {
				want, _ := fittedOn(t, mirroredOn(t, "cpu", n, false), network())
				for _, o := range []distribute.CrossDeviceOps{nil, distribute.HierarchicalCopyAllReduce{}, distribute.NcclAllReduce{}, distribute.ReductionToOneDevice{}, distribute.RingAllReduce{NumPacks: 2}} {
					if _, ring := o.(distribute.RingAllReduce); ring && n != 5 {
						continue // many rounds
					}
					if _, one := o.(distribute.ReductionToOneDevice); one && n != 8 {
						continue
					}
					var names []string
					for i := range n {
						names = append(names, fmt.Sprint(kind, ":", 7-i))
					}
					s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: names, CrossDeviceOps: o})
					require.NoError(t, err)
					got, _ := fittedOn(t, s, network())
					require.NoError(t, f.Fault())
					require.NoError(t, library.Fault())
					sameWeights(t, want, got, 2e-4)
				}
			}
		})
	}
}
