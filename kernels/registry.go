package kernels

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

var registry = struct {
	sync.RWMutex
	backends map[string]Backend
}{backends: map[string]Backend{}}

// Register makes a backend available; it panics when its kind is taken, as database/sql does.
func Register(b Backend) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.backends[b.Kind()]; taken {
		panic("kernels: Register called twice for " + b.Kind())
	}
	registry.backends[b.Kind()] = b
}

// Lookup returns the backend for a device kind.
func Lookup(kind string) (Backend, error) {
	registry.RLock()
	defer registry.RUnlock()
	b, ok := registry.backends[kind]
	if !ok {
		known := make([]string, 0, len(registry.backends))
		for k := range registry.backends {
			known = append(known, k)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("kernels: no backend for device kind %q is linked into this program; it has: %s", kind, strings.Join(known, ", "))
	}
	return b, nil
}

// Devices lists the devices of all backends, sorted by kind and index.
func Devices() []Device {
	registry.RLock()
	defer registry.RUnlock()
	var all []Device
	for _, b := range registry.backends {
		all = append(all, b.Devices()...)
	}
	slices.SortFunc(all, func(a, b Device) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return a.Index - b.Index
	})
	return all
}
