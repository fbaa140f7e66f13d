//go:build linux

package capi

import (
	"errors"
	"slices"
)

// MemoryInfo describes a memory that a device reaches.
type MemoryInfo struct {
	Handle  uintptr
	ID      int    // among memories of its kind
	Kind    string // "device", "pinned_host", "unpinned_host", ...
	Text    string
	Devices []int // numbers of the devices that reach it
	Default bool  // where arrays of the device lie unless told otherwise
}

// Memories lists the memories that a device reaches. It is empty where the plugin does not tell memories apart.
func (c *Client) Memories(device uintptr) ([]MemoryInfo, error) {
	b := newBlock(40)
	b[2] = uint64(device)
	if err := c.Plugin.call(deviceMemories, b); err != nil {
		return nil, unlessMissing(err)
	}
	usual, err := c.Plugin.ask(deviceDefaultMemory, device)
	if err = unlessMissing(err); err != nil {
		return nil, err
	}
	handles := slices.Clone(words(uintptr(b[3]), int(b[4])))
	all := make([]MemoryInfo, len(handles))
	for i, handle := range handles {
		if all[i], err = c.memory(uintptr(handle)); err != nil {
			return nil, err
		}
		all[i].Default = handle == usual
	}
	return all, nil
}

func (c *Client) memory(handle uintptr) (MemoryInfo, error) {
	id, kind, debug, devices := newBlock(32), newBlock(40), newBlock(40), newBlock(40)
	for _, q := range []struct {
		entry uintptr
		b     block
	}{{memoryID, id}, {memoryKind, kind}, {memoryDebugString, debug}, {memoryDevices, devices}} {
		q.b[2] = uint64(handle)
		if err := c.Plugin.call(q.entry, q.b); err != nil {
			return MemoryInfo{}, err
		}
	}
	m := MemoryInfo{Handle: handle, ID: int(int32(id[3])), Kind: text(kind[3], kind[4]), Text: text(debug[3], debug[4])}
	for _, device := range slices.Clone(words(uintptr(devices[3]), int(devices[4]))) {
		info, err := c.Describe(uintptr(device))
		if err != nil {
			return MemoryInfo{}, err
		}
		m.Devices = append(m.Devices, info.ID)
	}
	return m, nil
}

// unlessMissing forgives the error of a function that the plugin lacks.
func unlessMissing(err error) error {
	var failed *Error
	if errors.As(err, &failed) && failed.Code == Unimplemented {
		return nil
	}
	return err
}

// CopyToMemory copies a buffer to another memory that its device reaches.
func (c *Client) CopyToMemory(memory, buffer uintptr) (uintptr, error) {
	b := newBlock(40)
	b[2], b[3] = uint64(buffer), uint64(memory)
	err := c.Plugin.call(bufferToMemory, b)
	return uintptr(b[4]), err
}
