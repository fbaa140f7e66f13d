//go:build linux

package cuda

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// Topology says which GPUs of this machine reach each other's memory.
type Topology struct {
	Devices []kernels.Device
	// Peers[i][j] says that device i reads and writes the memory of device j directly, over NVLink or PCIe; i and i do.
	Peers [][]bool
}

// Links asks the driver how the GPUs of this machine are connected, without using them. The error says why there are none.
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
	return t, nil
}

// Islands groups the devices so that all of a group reach each other's memory. Replicas on one island meet in device memory; those of several meet in host
// memory.
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

// String is a table of who reaches whom, and how replicas on all of the devices would meet.
func (t Topology) String() string {
	var b strings.Builder
	width := 4
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
		}
		words[i] = "self"
		line(names[i], words)
	}
	switch islands := t.Islands(); {
	case len(t.Devices) < 2:
		b.WriteString("one device: nobody to meet\n")
	case len(islands) == 1:
		fmt.Fprintf(&b, "replicas on all devices meet in device memory: all-reduces below %d KiB in one go, larger ones in shares\n", twoShotBytes>>10)
	default:
		fmt.Fprintf(&b, "replicas on all devices meet in pinned host memory; islands that meet in device memory: %v\n", islands)
	}
	return b.String()
}
