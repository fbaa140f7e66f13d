package memory

import (
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// reserve is what Go's heap may request in addition to an allocation: it grows by 64 MiB at a time.
const reserve = 128 << 20

// system is the root of the system's files about memory; tests use another one.
type system struct{ proc, groups string }

var linux = system{"/proc", "/sys/fs/cgroup"}

// Limit is the memory of the machine, or of the control groups that the process runs in, in bytes.
var Limit = sync.OnceValue(func() int { return linux.limit() })

func (s system) limit() int {
	limit := Addressable
	if n, ok := field(s.proc+"/meminfo", "MemTotal:"); ok {
		limit = n
	}
	for _, g := range s.controlGroups() {
		limit = min(limit, g.limit)
	}
	return limit
}

// field reads a line such as "MemTotal:   24684096 kB" or "inactive_file 8192".
func field(file, name string) (n int, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	return fieldOf(text, name)
}

func fieldOf(text []byte, name string) (n int, ok bool) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 2 || string(f[0]) != name {
			continue
		}
		n, err := strconv.Atoi(string(f[1]))
		if err != nil || n < 0 {
			return 0, false
		}
		if len(f) == 3 && string(f[2]) == "kB" {
			if n >= Addressable>>10 {
				return 0, false
			}
			n <<= 10
		}
		return n, true
	}
	return 0, false
}

// controlGroup is one of the groups with a limit that the process belongs to, or of the groups around it.
type controlGroup struct {
	limit int
	dir   string
	used  string // file of what it uses
	cache string // in memory.stat, what of that can be taken back
}

func (s system) controlGroups() []controlGroup {
	text, _ := os.ReadFile(s.proc + "/self/cgroup")
	v1, v2 := "/", "/"
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(part) != 3:
		case part[0] == "0" && part[1] == "":
			v2 = part[2]
		case strings.Contains(","+part[1]+",", ",memory,"):
			v1 = part[2]
		}
	}
	var all []controlGroup
	add := func(root, at, limit string, g controlGroup) {
		for at = path.Clean("/" + at); ; at = path.Dir(at) {
			g.dir = root + at
			text, err := os.ReadFile(path.Join(g.dir, limit))
			if n, bad := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && bad == nil && n > 0 && n < Addressable {
				g.limit = n
				all = append(all, g)
			}
			if at == "/" {
				return
			}
		}
	}
	add(s.groups, v2, "memory.max", controlGroup{used: "memory.current"})
	add(s.groups+"/unified", v2, "memory.max", controlGroup{used: "memory.current"})
	add(s.groups+"/memory", v1, "memory.limit_in_bytes", controlGroup{used: "memory.usage_in_bytes", cache: "total_"})
	return all
}

// left returns what processes of the group may still use. Cached files give way if necessary, so they do not count.
func (g controlGroup) left() (int, bool) {
	text, err := os.ReadFile(path.Join(g.dir, g.used))
	used, bad := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || bad != nil {
		return 0, false
	}
	stat := path.Join(g.dir, "memory.stat")
	inactive, _ := field(stat, g.cache+"inactive_file")
	active, _ := field(stat, g.cache+"active_file")
	return g.limit - used + inactive + active, true
}

// systemRooms lists the limits of the system and what is left under them.
func systemRooms(h heap) []room { return linux.rooms(h) }

func (s system) rooms(h heap) (rooms []room) {
	status, err := os.ReadFile(s.proc + "/self/status")
	promised := 0 // memory that has been asked for, and takes pages as soon as somebody writes to it
	if resident, ok := fieldOf(status, "VmRSS:"); ok && err == nil {
		swapped, _ := fieldOf(status, "VmSwap:")
		promised = max(h.mapped-resident-swapped, 0)
	}
	// Idle memory of the heap is used first, so its pages count as room too.
	if info, err := os.ReadFile(s.proc + "/meminfo"); err == nil {
		if free, ok := fieldOf(info, "MemAvailable:"); ok {
			swap, _ := fieldOf(info, "SwapFree:")
			rooms = append(rooms, room{"this machine has left", free + swap + h.idle - promised, smaller + ", or end other processes"})
		}
	}
	for _, g := range s.controlGroups() {
		if n, ok := g.left(); ok {
			rooms = append(rooms, room{"the control group of the process leaves", n + h.idle - promised, smaller + ", or raise the limit of the group or container"})
		}
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) == nil && r.Cur < math.MaxInt64 && r.Cur < Addressable {
		if size, ok := fieldOf(status, "VmSize:"); ok {
			// The unused address space of the heap is in pieces of unknown sizes. A quarter of it in one piece is a
			// careful guess.
			fresh := int(r.Cur) - size - reserve
			rooms = append(rooms, room{"the limit on its address space leaves the process", max(fresh, (h.idle+h.released)/4), smaller + ", or raise the limit (ulimit -v)"})
		}
	}
	return rooms
}
