package kernels

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

var registry = struct {
	sync.RWMutex
	backends map[string]Backend
	aliases  map[string]string
}{backends: map[string]Backend{}, aliases: map[string]string{}}

// Register makes a backend available. It panics if its kind is taken, as database/sql does.
func Register(b Backend) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.backends[b.Kind()]; taken {
		panic("kernels: Register called twice for " + b.Kind())
	}
	registry.backends[b.Kind()] = b
}

// RegisterAlias makes another name for the devices of a backend: with RegisterAlias("gpu", "cuda"), [ParseDevice] reads
// "/gpu:0" as "cuda:0". Backends call it next to [Register]; the first to take a name keeps it.
func RegisterAlias(alias, kind string) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.aliases[alias]; !taken {
		registry.aliases[alias] = kind
	}
}

// canonical is the kind that an alias stands for, or the kind itself.
func canonical(kind string) string {
	registry.RLock()
	defer registry.RUnlock()
	if _, own := registry.backends[kind]; own {
		return kind
	}
	if k, ok := registry.aliases[kind]; ok {
		return k
	}
	return kind
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
		err := fmt.Errorf("kernels: no backend for device kind %q is linked into this program; it has: %s", kind, strings.Join(known, ", "))
		if of, ok := packages[kind]; ok {
			err = fmt.Errorf("%w; to link it: import _ %q", err, of)
		}
		return nil, err
	}
	return b, nil
}

// packages are the packages of this module that register a backend for a device kind, or for its alias.
var packages = map[string]string{
	"cpu":  "github.com/gokeras/gokeras/kernels/cpu",
	"cuda": "github.com/gokeras/gokeras/kernels/cuda",
	"gpu":  "github.com/gokeras/gokeras/kernels/cuda",
	"tpu":  "github.com/gokeras/gokeras/kernels/pjrt",
	"xla":  "github.com/gokeras/gokeras/kernels/pjrt",
}

// Devices lists the devices of all backends, sorted by kind and index.
func Devices() []Device {
	registry.RLock()
	defer registry.RUnlock()
	var all []Device
	for _, b := range registry.backends {
		all = append(all, b.Devices()...)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Kind < b.Kind || a.Kind == b.Kind && a.Index < b.Index
	})
	return all
}
