//go:build linux

package pjrt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// Join connects to the devices of several hosts through the plugin. All hosts call it, before anything else uses a
// device. All plugins except those of TPUs must be told which host is which: they get the options "node_id" and
// "num_nodes" in addition to those of the backend.
func (b *Backend) Join(h kernels.Hosts) (process int, err error) {
	if h.Count < 1 || h.Index < 0 || h.Index >= h.Count || h.Keys == nil {
		return 0, fmt.Errorf("pjrt: joining host %d of %d; expected a number below that of the hosts, and a store of keys", h.Index, h.Count)
	}
	late := true
	b.once.Do(func() {
		late, b.hosts = false, &h
		b.open()
	})
	switch {
	case b.err != nil:
		return 0, b.err
	case late && b.hosts == nil:
		return 0, fmt.Errorf("pjrt: devices of kind %q are in use by this process alone; hosts must be joined before anything uses a device", b.kind)
	case late && (b.hosts.Index != h.Index || b.hosts.Count != h.Count):
		return 0, fmt.Errorf("pjrt: the devices of kind %q were joined as host %d of %d, and cannot be as %d of %d too", b.kind, b.hosts.Index, b.hosts.Count, h.Index, h.Count)
	}
	return b.client.Process, nil
}

// settings are used to connect to the devices.
func (b *Backend) settings() (capi.Store, []capi.Option) {
	if b.hosts == nil {
		return nil, b.options
	}
	options := slices.Clone(b.options)
	if b.kind != "tpu" { // libtpu finds its pod by itself, and rejects options that it does not know
		options = append(options, Option{Name: "node_id", Value: int64(b.hosts.Index)}, Option{Name: "num_nodes", Value: int64(b.hosts.Count)})
	}
	return keys{b.hosts.Keys}, options
}

// keys translates the errors of a store to the codes that plugins know.
type keys struct{ store kernels.KeyStore }

func (k keys) Get(key string, timeout time.Duration) ([]byte, error) {
	value, err := k.store.Get(key, timeout)
	return value, coded(err)
}

func (k keys) TryGet(key string) ([]byte, error) {
	value, err := k.store.TryGet(key)
	return value, coded(err)
}

func (k keys) Put(key string, value []byte) error { return coded(k.store.Put(key, value)) }

func coded(err error) error {
	if err == nil {
		return nil
	}
	code := int32(capi.Unavailable)
	var late interface{ Timeout() bool }
	switch {
	case errors.Is(err, kernels.ErrNoKey):
		code = capi.NotFound
	case errors.As(err, &late) && late.Timeout():
		code = capi.DeadlineExceeded
	}
	return &capi.Error{Code: code, Message: err.Error()}
}
