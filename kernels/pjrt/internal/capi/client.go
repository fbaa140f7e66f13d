//go:build linux

package capi

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Client is a plugin's connection to its devices.
type Client struct {
	Plugin  *Plugin
	Devices []uintptr // those that this process may use
	All     []uintptr // those of all processes
	Process int       // number of this process among those that the client spans
	object  uintptr
	store   uintptr // number of the store that the processes share; 0: none

	mu       sync.RWMutex // held by who gives objects back, so that the client lives meanwhile
	closed   bool
	host     sync.Once
	isOnHost bool // the devices' memory is the host's
}

// Option is a setting for a client or a topology; which there are depends on the platform. Value is a string, int64,
// []int64, float32 or bool.
type Option struct {
	Name  string
	Value any
}

// options writes an array of named values.
func (a *arguments) options(options []Option) (address, count uint64, err error) {
	if len(options) == 0 {
		return 0, 0, nil
	}
	all := make([]uint64, 7*len(options))
	for i, o := range options {
		w := all[7*i : 7*i+7]
		w[0], w[2], w[3], w[6] = 56, a.text(o.Name), uint64(len(o.Name)), 1
		switch v := o.Value.(type) {
		case string:
			w[5], w[6] = a.text(v), uint64(len(v))
		case int64:
			w[4], w[5] = 1, uint64(v)
		case []int64:
			list := make([]uint64, len(v))
			for j, n := range v {
				list[j] = uint64(n)
			}
			w[4], w[5], w[6] = 2, a.words(list), uint64(len(v))
		case float32:
			w[4], w[5] = 3, uint64(math.Float32bits(v))
		case bool:
			w[4] = 4
			if v {
				w[5] = 1
			}
		default:
			return 0, 0, fmt.Errorf("pjrt: option %q: received %T; expected a string, int64, []int64, float32 or bool", o.Name, o.Value)
		}
	}
	return a.words(all), uint64(len(options)), nil
}

// NewClient connects to the devices, with a store to those of several processes, all of which must call it.
func (p *Plugin) NewClient(store Store, options ...Option) (*Client, error) {
	var a arguments
	defer a.release()
	b := newBlock(88)
	var err error
	if b[2], b[3], err = a.options(options); err != nil {
		return nil, err
	}
	c := &Client{Plugin: p}
	if store != nil {
		c.store = stores.add(store)
		f := callbacks()
		b[4], b[5], b[6], b[7], b[9], b[10] = uint64(f[0]), uint64(c.store), uint64(f[1]), uint64(c.store), uint64(f[2]), uint64(c.store)
	}
	if err := p.call(clientCreate, b); err != nil {
		stores.remove(c.store)
		return nil, err
	}
	c.object = uintptr(b[8])
	if err := c.survey(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// survey finds out which devices there are.
func (c *Client) survey() error {
	list := func(entry uintptr) (all []uintptr, err error) {
		b := newBlock(40)
		b[2] = uint64(c.object)
		if err := c.Plugin.call(entry, b); err != nil {
			return nil, err
		}
		for _, device := range words(uintptr(b[3]), int(b[4])) {
			all = append(all, uintptr(device))
		}
		return all, nil
	}
	var err error
	if c.Devices, err = list(clientAddressableDevices); err != nil {
		return err
	}
	if c.store == 0 {
		c.All = c.Devices
		return nil
	}
	if c.All, err = list(clientDevices); err != nil {
		return err
	}
	process, err := c.Plugin.ask(clientProcessIndex, c.object)
	c.Process = int(int32(process))
	return err
}

// Close ends the connection. What buffers and executables there are goes with it.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	defer stores.remove(c.store)
	return c.Plugin.handle(clientDestroy, c.object)
}

// Platform is the name of the platform ("cpu", "cuda", "tpu") and its version in words.
func (c *Client) Platform() (name, version string, err error) {
	for _, q := range []struct {
		entry uintptr
		out   *string
	}{{clientPlatformName, &name}, {clientPlatformVersion, &version}} {
		b := newBlock(40)
		b[2] = uint64(c.object)
		if err := c.Plugin.call(q.entry, b); err != nil {
			return "", "", err
		}
		*q.out = text(b[3], b[4])
	}
	return name, version, nil
}

// DeviceInfo describes a device.
type DeviceInfo struct {
	ID   int    // among those of all processes
	Kind string // "cpu", "TPU v5 lite", ...
	Text string

	Process     int   // that the device belongs to
	Coordinates []int // of a TPU's chip; nil elsewhere
	Core        int   // number of a TPU's core on its chip
}

// Describe describes a device of the client.
func (c *Client) Describe(device uintptr) (DeviceInfo, error) {
	b := newBlock(32)
	b[2] = uint64(device)
	if err := c.Plugin.call(deviceDescription, b); err != nil {
		return DeviceInfo{}, err
	}
	return c.Plugin.describe(b[3])
}

func (p *Plugin) describe(description uint64) (DeviceInfo, error) {
	id, kind, debug := newBlock(32), newBlock(40), newBlock(40)
	for _, q := range []struct {
		entry uintptr
		b     block
	}{{descriptionID, id}, {descriptionKind, kind}, {descriptionDebugString, debug}} {
		q.b[2] = description
		if err := p.call(q.entry, q.b); err != nil {
			return DeviceInfo{}, err
		}
	}
	info := DeviceInfo{ID: int(int32(id[3])), Kind: text(kind[3], kind[4]), Text: text(debug[3], debug[4])}
	process, attributes := newBlock(32), newBlock(40)
	process[2], attributes[2] = description, description
	if err := p.call(descriptionProcess, process); err != nil {
		return DeviceInfo{}, err
	}
	if err := p.call(descriptionAttributes, attributes); err != nil {
		return DeviceInfo{}, err
	}
	info.Process = int(int32(process[3]))
	for name, values := range namedIntegers(attributes[4], attributes[3]) {
		switch name {
		case "coords":
			for _, v := range values {
				info.Coordinates = append(info.Coordinates, int(v))
			}
		case "core_on_chip":
			info.Core = int(values[0])
		}
	}
	return info, nil
}

// MemoryInUse is how many bytes of a device are taken, where the platform knows.
func (c *Client) MemoryInUse(device uintptr) (int64, error) {
	b := newBlock(192)
	b[2] = uint64(device)
	if err := c.Plugin.call(deviceMemoryStats, b); err != nil {
		return 0, err
	}
	return int64(b[3]), nil
}
