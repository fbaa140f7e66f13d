//go:build linux

package pjrt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Memory is a memory that a device reaches: its own, or the host's.
type Memory struct {
	ID      int    `json:"id"`   // among memories of its kind
	Kind    string `json:"kind"` // "device", "pinned_host", "unpinned_host", ...; the platform's names
	Text    string `json:"text"` // as the plugin describes it
	Devices []int  `json:"devices"`
	Default bool   `json:"default"` // where arrays are by default
}

// Memories lists the memories that a device reaches. There are none if the plugin does not distinguish memories.
func (b *Backend) Memories(d kernels.Device) ([]Memory, error) {
	client, place, err := b.device(d)
	if err != nil {
		return nil, err
	}
	found, err := client.Memories(place)
	if err != nil {
		return nil, fmt.Errorf("pjrt: memories of %v: %w", d, err)
	}
	all := make([]Memory, len(found))
	for i, m := range found {
		all[i] = Memory{m.ID, m.Kind, m.Text, m.Devices, m.Default}
	}
	return all, nil
}

// NewBufferIn is NewBuffer in a memory of a kind that the device reaches, such as "pinned_host" for data that is seldom
// used and should leave the device's memory to others. A program that takes the buffer gets a copy in the device's
// default memory while it runs; new contents are copied back. For a kind that the device does not reach, the error
// lists the kinds.
func (b *Backend) NewBufferIn(d kernels.Device, t ir.Type, kind string) (kernels.Buffer, error) {
	made, err := b.NewBuffer(d, t)
	if err != nil {
		return nil, err
	}
	own := made.(*buffer)
	found, err := own.client.Memories(own.place)
	if err != nil {
		return nil, fmt.Errorf("pjrt: memories of %v: %w", d, err)
	}
	var kinds []string
	var memory uintptr
	for _, m := range found {
		kinds = append(kinds, fmt.Sprintf("%q", m.Kind))
		if m.Default {
			own.usual = m.Handle
		}
		if m.Kind == kind {
			memory = m.Handle
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("pjrt: a buffer in memory %q of %v: the plugin does not tell memories apart (interface 0.%d)", kind, d, own.client.Plugin.Minor)
	case memory == 0:
		return nil, fmt.Errorf("pjrt: a buffer in memory %q of %v: expected one of %s", kind, d, strings.Join(kinds, ", "))
	case own.usual == 0:
		return nil, fmt.Errorf("pjrt: a buffer in memory %q of %v: the plugin does not say which memory programs use", kind, d)
	}
	if memory != own.usual {
		own.memory = memory
	}
	return own, nil
}

// in is a copy of the object in a memory that its device reaches; handle identifies that memory. The object is
// released.
func (o *object) in(memory, handle uintptr) (*object, error) {
	copied, err := o.client.CopyToMemory(handle, o.handle)
	if err != nil {
		return nil, errors.Join(err, o.release())
	}
	moved := newObject(o.client, copied)
	moved.memory = memory
	moved.remote.Store(o.remote.Load())
	if err := o.release(); err != nil {
		return nil, errors.Join(err, moved.release())
	}
	return moved, nil
}

// taken is ready for a program, which needs its inputs in the default memory.
func (b *buffer) taken() (*object, error) {
	o, err := b.ready()
	if err != nil || o.memory == 0 {
		return o, err
	}
	return o.in(0, b.usual)
}

// keep is replace for the result of a program.
func (b *buffer) keep(o *object) error {
	if b.memory != 0 {
		var err error
		if o, err = o.in(b.memory, b.memory); err != nil {
			return err
		}
	}
	return b.replace(o)
}
