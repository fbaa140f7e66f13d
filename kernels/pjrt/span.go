//go:build linux

package pjrt

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// span is a mesh's connection to the other processes that have some of its devices.
type span struct {
	exchange func(ctx context.Context, name string, own []byte) ([][]byte, error)
	remote   *link
	places   [][]int // which devices of the mesh each process has
}

// link ends the waiting for the others; nil if there are none.
func (s *span) link() *link {
	if s == nil {
		return nil
	}
	return s.remote
}

// spanning makes a mesh of devices of several processes.
func (b *Backend) spanning(o kernels.MeshOptions) (*mesh, error) {
	client, err := b.connect()
	if err != nil {
		return nil, err
	}
	if b.hosts == nil || o.Span.Exchange == nil || len(o.Devices) > 0 {
		return nil, errors.New("pjrt: a mesh over several processes needs the numbers of its devices alone, a way to exchange bytes, and hosts that were joined (tpu.InitializeSystem does it)")
	}
	m := &mesh{backend: b, client: client, shape: o.Shape, layouts: o.Layouts, ids: slices.Clone(o.Span.Cores)}
	byID := map[int]uintptr{}
	own := map[int]bool{}
	for _, device := range client.All {
		info, err := client.Describe(device)
		if err != nil {
			return nil, err
		}
		byID[info.ID], own[info.ID] = device, slices.Contains(client.Devices, device)
	}
	for i, id := range m.ids {
		switch device, known := byID[id]; {
		case !known:
			return nil, fmt.Errorf("pjrt: there is no device number %d; the plugin %s knows %d devices", id, client.Plugin.Path, len(byID))
		case slices.Contains(m.ids[:i], id):
			return nil, fmt.Errorf("pjrt: device number %d is in the mesh twice", id)
		case own[id]:
			m.own, m.places = append(m.own, i), append(m.places, device)
		}
	}
	m.span = &span{exchange: o.Span.Exchange, remote: newLink(kernels.CommunicatorOptions{Broken: o.Span.Broken})}
	if err := m.span.meet(m); err != nil {
		return nil, err
	}
	if o.Span.Ended != nil {
		go func() { // the mesh lives as long as the process
			<-o.Span.Ended
			m.span.remote.end(o.Span.Why())
		}()
	}
	return m, nil
}

// meet makes sure that all processes make the same mesh, and that each has a part of it.
func (s *span) meet(m *mesh) error {
	text := fmt.Sprint(m.shape, m.ids)
	own := binary.AppendUvarint(nil, uint64(len(m.own)))
	for _, i := range m.own {
		own = binary.AppendUvarint(own, uint64(i))
	}
	blocks, err := s.exchange(context.Background(), "a mesh of devices", append(own, text...))
	if err != nil {
		return err
	}
	seen := 0
	for rank, block := range blocks {
		var list []int
		number := func() int {
			v, n := binary.Uvarint(block)
			block = block[max(n, 0):]
			return int(v)
		}
		for range min(number(), len(m.ids)) {
			list = append(list, number())
		}
		if string(block) != text {
			return fmt.Errorf("pjrt: process %d makes a mesh of the shape and devices %s, and this one %s; all must make the same ones in the same order", rank, block, text)
		}
		if len(list) == 0 {
			return fmt.Errorf("pjrt: process %d has no device of the mesh %s; expected a mesh with devices of each", rank, text)
		}
		s.places, seen = append(s.places, list), seen+len(list)
	}
	if seen != len(m.ids) {
		return fmt.Errorf("pjrt: the processes have %d of the %d devices of the mesh %s", seen, len(m.ids), text)
	}
	return nil
}

// together is how long a process waits for the others to read or compile the same thing: they may be a step behind. If
// another process meanwhile waits for a step of this one, both would otherwise wait forever.
const together = 5 * time.Minute

// same makes sure that all processes compile the same program.
func (s *span) same(name, module string) error {
	if s == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(module))
	own := append(sum[:8:8], name...)
	ctx, cancel := context.WithTimeoutCause(context.Background(), together, fmt.Errorf("the other processes did not compile it within %v", together))
	defer cancel()
	blocks, err := s.exchange(ctx, "compiling a program for devices of several processes", own)
	if err != nil {
		return err
	}
	for rank, block := range blocks {
		if string(block) != string(own) && len(block) >= 8 {
			return fmt.Errorf("pjrt: process %d compiles program %q and this one %q, or the same with other shapes or constants; a mesh over several processes runs one program, so all make the same calls with batches of the same sizes", rank, block[8:], name)
		}
	}
	return nil
}

// complete adds the parts that this process does not have. All processes must call it. own are the parts that this
// process has.
func (s *span) complete(m *mesh, name string, t ir.Type, layout []int, own, into []byte) error {
	if s == nil || !slices.ContainsFunc(s.places, func(devices []int) bool { return !m.shape.Covered(layout, devices) }) {
		return nil // each process has all parts. What others have matters, because all must exchange or none
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), together, fmt.Errorf("the other processes did not read it within %v", together))
	defer cancel()
	blocks, err := s.exchange(ctx, fmt.Sprintf("reading %s, %v, which lies in parts on several processes: all must read or save it together", name, t), own)
	if err != nil {
		return fmt.Errorf("pjrt: reading %s, %v, from %v: %w", name, t, m.name, err)
	}
	part := m.shape.Part(t, layout).Bytes()
	for rank, block := range blocks {
		if rank >= len(s.places) || len(block) != part*len(s.places[rank]) {
			return fmt.Errorf("pjrt: reading %s, %v, from %v: process %d sent %d bytes; expected its parts of %d bytes each", name, t, m.name, rank, len(block), part)
		}
		for i, device := range s.places[rank] {
			m.shape.Paste(t, layout, device, block[i*part:(i+1)*part], into)
		}
	}
	return nil
}
