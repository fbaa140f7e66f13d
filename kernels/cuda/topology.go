//go:build linux

package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
)

// Topology says which GPUs of this machine reach each other's memory.
type Topology struct {
	Devices []kernels.Device
	// Peers[i][j] says that device i reads and writes the memory of device j directly, over NVLink or PCIe; it is true
	// for i = j.
	Peers [][]bool
	// Paths[i][j] names the fastest path from device i to j as NVIDIA's tables do: NV4 (four NVLinks), or what a path
	// over PCIe goes through: PIX (one switch), PXB (several), PHB (a host bridge), NODE (several of them), SYS (the
	// connection between NUMA nodes). It is nil if NVIDIA's management library is not found.
	Paths [][]string
}

// Links asks the driver how the GPUs of this machine are connected, without using them. The error says why there are
// none.
func Links() (Topology, error) { return own.links() }

func (b *backend) links() (Topology, error) {
	var t Topology
	if err := b.connect(); err != nil {
		return t, err
	}
	t.Devices = b.Devices()
	for i := range t.Devices {
		row := make([]bool, len(t.Devices))
		for j := range row {
			if row[j] = i == j; row[j] {
				continue
			}
			var r driver.Result
			if row[j], r = b.api.CanAccessPeer(i, j); r != driver.Success {
				return t, driver.Check(b.api, r, "cuDeviceCanAccessPeer", "devices %d and %d", i, j)
			}
		}
		t.Peers = append(t.Peers, row)
	}
	return t, b.paths(&t)
}

// paths adds the paths from the management library, if it knows all of the devices.
func (b *backend) paths(t *Topology) error {
	machine, err := b.survey()
	if err != nil {
		return nil
	}
	numbers := make([]int, len(t.Devices))
	for i := range numbers {
		f, err := driver.Describe(b.api, i)
		if err != nil {
			return err
		}
		if numbers[i] = machine.Find(nvml.BusOf(f.Domain, f.Bus, f.BusDevice)); numbers[i] < 0 {
			return nil
		}
	}
	for _, i := range numbers {
		var row []string
		for _, j := range numbers {
			row = append(row, machine.Links[i][j].String())
		}
		t.Paths = append(t.Paths, row)
	}
	return nil
}

// Islands groups the devices so that all devices of a group reach each other's memory. Replicas on one island meet in
// device memory; replicas on several meet in host memory.
func (t Topology) Islands() [][]kernels.Device {
	var groups [][]int
	for i := range t.Devices {
		placed := false
		for g, members := range groups {
			all := true
			for _, j := range members {
				all = all && t.Peers[i][j] && t.Peers[j][i]
			}
			if all {
				groups[g], placed = append(members, i), true
				break
			}
		}
		if !placed {
			groups = append(groups, []int{i})
		}
	}
	out := make([][]kernels.Device, len(groups))
	for g, members := range groups {
		for _, i := range members {
			out[g] = append(out[g], t.Devices[i])
		}
	}
	return out
}

// Groups implements [kernels.Grouper]: devices joined by NVLinks, in one or several hops; without NVLinks, devices
// below one host bridge; without the management library, islands.
func (b *backend) Groups(devices []kernels.Device) [][]int {
	t, err := b.links()
	if err != nil {
		return nil
	}
	near := func(i, j int) bool { return t.Peers[i][j] && t.Peers[j][i] }
	if t.Paths != nil {
		linked := slices.ContainsFunc(t.Paths, func(row []string) bool {
			return slices.ContainsFunc(row, func(p string) bool { return strings.HasPrefix(p, "NV") })
		})
		near = func(i, j int) bool {
			if linked {
				return strings.HasPrefix(t.Paths[i][j], "NV") || strings.HasPrefix(t.Paths[j][i], "NV")
			}
			return slices.Contains([]string{"board", "PIX", "PXB", "PHB"}, t.Paths[i][j])
		}
	}
	var groups [][]int
	placed := make([]bool, len(devices))
	for i := range devices {
		if placed[i] {
			continue
		}
		placed[i] = true
		group := []int{i}
		for k := 0; k < len(group); k++ {
			for j := range devices {
				if !placed[j] && near(devices[group[k]].Index, devices[j].Index) {
					placed[j] = true
					group = append(group, j)
				}
			}
		}
		slices.Sort(group)
		groups = append(groups, group)
	}
	return groups
}

// String is a table of which devices reach each other, and how replicas on all of the devices would meet.
func (t Topology) String() string {
	var b strings.Builder
	width := 4
	if t.Paths != nil {
		width = len("peer NV18")
	}
	for _, d := range t.Devices {
		width = max(width, len(d.String()))
	}
	line := func(first string, rest []string) {
		text := fmt.Sprintf("%-*s", width, first)
		for _, word := range rest {
			text += fmt.Sprintf("  %-*s", width, word)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	var names []string
	for _, d := range t.Devices {
		names = append(names, d.String())
	}
	line("", names)
	for i := range t.Devices {
		words := make([]string, len(names))
		for j := range words {
			words[j] = map[bool]string{true: "peer", false: "host"}[t.Peers[i][j]]
			if t.Paths != nil {
				words[j] += " " + t.Paths[i][j]
			}
		}
		words[i] = "self"
		line(names[i], words)
	}
	switch islands := t.Islands(); {
	case len(t.Devices) < 2:
		b.WriteString("one device: nobody to meet\n")
	case len(islands) == 1:
		fmt.Fprintf(&b, "replicas on all devices meet in device memory: small all-reduces in one go, large ones in shares\n")
	default:
		fmt.Fprintf(&b, "replicas meet in device memory within islands, in pinned host memory between them; islands that meet in device memory: %v\n", islands)
	}
	return b.String()
}
