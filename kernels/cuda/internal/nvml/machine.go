//go:build linux

package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Machine is the library's information about the GPUs of a machine, in the library's order, which ignores
// CUDA_VISIBLE_DEVICES.
type Machine struct {
	Driver string // the driver's release, "550.54.15"
	GPUs   []GPU
	Links  [][]Link // from one GPU to another
}

// GPU is one card.
type GPU struct {
	UUID        string
	Bus         string // PCI address, "00000000:65:00.0"
	Total, Used uint64 // bytes of memory; Used is by all processes
}

// Link is how two GPUs are connected.
type Link struct {
	NVLinks int   // direct ones, or ones to a common switch
	Level   Level // what a path over PCIe passes through
}

// Level is how far apart two GPUs are on PCIe.
type Level int

// The levels, with the library's values.
const (
	Board    Level = 0  // two GPUs of one card
	Switch   Level = 10 // one PCIe switch
	Switches Level = 20 // several switches, no host bridge
	Bridge   Level = 30 // a host bridge
	Node     Level = 40 // several host bridges of one NUMA node
	System   Level = 50 // the connection between NUMA nodes
)

// String returns the level's name in NVIDIA's tables: PIX, PXB, PHB, NODE or SYS; "board" for GPUs of one card.
func (l Level) String() string {
	switch {
	case l <= Board:
		return "board"
	case l <= Switch:
		return "PIX"
	case l <= Switches:
		return "PXB"
	case l <= Bridge:
		return "PHB"
	case l <= Node:
		return "NODE"
	}
	return "SYS"
}

// String names the fastest connection: NV4 for four NVLinks, else the level.
func (l Link) String() string {
	if l.NVLinks > 0 {
		return fmt.Sprintf("NV%d", l.NVLinks)
	}
	return l.Level.String()
}

// maxLinks is more than the NVLinks of any GPU.
const maxLinks = 18

// binding is the interface to the library that both ways of calling it implement. GPUs have the library's numbers.
type binding interface {
	close() error
	driver() (string, error)
	count() (int, error)
	uuid(gpu int) (string, error)
	bus(gpu int) (string, error)
	memory(gpu int) (total, used uint64, err error)
	ancestor(gpu, other int) (Level, error)
	// nvlink returns the PCI address at the other end of a link, "" if there is no such link or it is down.
	nvlink(gpu, link int) (bus string, err error)
}

const file = "libnvidia-ml.so.1"

// Survey loads the library, collects the information, and unloads it. It searches the folders of GOKERAS_CUDA_PATH
// before the loader's. The error says why there is no information.
func Survey() (m Machine, err error) {
	b, err := open()
	if err != nil {
		return m, fmt.Errorf("nvml: there is no %s, which comes with the driver: %w", file, err)
	}
	defer func() { err = errors.Join(err, b.close()) }()
	return survey(b)
}

// open loads the library from the first folder that has it.
func open() (binding, error) {
	var first error
	for _, path := range append(filepath.SplitList(os.Getenv("GOKERAS_CUDA_PATH")), "") {
		b, err := load(filepath.Join(path, file))
		if err == nil {
			return b, nil
		}
		if path == "" && first == nil || path != "" && exists(filepath.Join(path, file)) {
			first = errors.Join(first, err)
		}
	}
	return nil, first
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func survey(b binding) (Machine, error) {
	var m Machine
	var err error
	if m.Driver, err = b.driver(); err != nil {
		return Machine{}, err
	}
	n, err := b.count()
	if err != nil {
		return Machine{}, err
	}
	ends := make([]map[string]int, n) // for each GPU: the number of links to each address
	for i := range n {
		var g GPU
		if g, ends[i], err = describe(b, i); err != nil {
			return Machine{}, fmt.Errorf("GPU %d: %w", i, err)
		}
		m.GPUs = append(m.GPUs, g)
	}
	for i := range n {
		row := make([]Link, n)
		for j := range row {
			if i == j {
				continue
			}
			if row[j].Level, err = b.ancestor(i, j); err != nil {
				return Machine{}, fmt.Errorf("GPUs %d and %d: %w", i, j, err)
			}
			row[j].NVLinks = m.nvlinks(ends, i, j)
		}
		m.Links = append(m.Links, row)
	}
	return m, nil
}

func describe(b binding, i int) (g GPU, ends map[string]int, err error) {
	if g.UUID, err = b.uuid(i); err != nil {
		return g, nil, err
	}
	if g.Bus, err = b.bus(i); err != nil {
		return g, nil, err
	}
	g.Bus = strings.ToUpper(g.Bus)
	if g.Total, g.Used, err = b.memory(i); err != nil {
		return g, nil, err
	}
	ends = map[string]int{}
	for link := range maxLinks {
		end, err := b.nvlink(i, link)
		if err != nil {
			return g, nil, err
		}
		if end != "" {
			ends[strings.ToUpper(end)]++
		}
	}
	return g, ends, nil
}

// nvlinks counts the links between two GPUs: direct ones, and through each common switch the smaller of the two GPUs'
// numbers of links to it.
func (m Machine) nvlinks(ends []map[string]int, i, j int) int {
	n := ends[i][m.GPUs[j].Bus]
	for end, links := range ends[i] {
		if !m.isGPU(end) {
			n += min(links, ends[j][end])
		}
	}
	return n
}

func (m Machine) isGPU(bus string) bool { return m.Find(bus) >= 0 }

// Find returns the number of the GPU with a PCI address, or -1.
func (m Machine) Find(bus string) int {
	for i, g := range m.GPUs {
		if strings.EqualFold(g.Bus, bus) {
			return i
		}
	}
	return -1
}

// BusOf formats a PCI address as the library does. Domain, bus and device are CUDA's device attributes.
func BusOf(domain, bus, device int) string {
	return fmt.Sprintf("%08X:%02X:%02X.0", domain, bus, device)
}
