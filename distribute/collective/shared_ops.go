package collective

import (
	"context"
	"fmt"
)

// The collectives over shared memory. Data moves in windows: each worker copies a window of its input to its own memory
// and publishes it. When all have, each reduces its part of the window from all inputs and publishes the result. When
// all have done that, each copies the other parts. Two slots alternate: once a worker has seen the others publish a
// window, they have read all of the previous one, so its slot is free again.

// enter publishes the content of the slot and waits for the others. On the first window of a call it checks that all
// make the same call.
func (s *session) enter(ctx context.Context, c *call, slot int, first bool) error {
	s.publish()
	if err := s.await(ctx, c); err != nil {
		return err
	}
	if !first {
		return nil
	}
	for rank, m := range s.shared {
		if sequence, hash, _ := m.described(slot); sequence != c.sequence || hash != c.hash {
			return s.mismatch(c, rank, fmt.Sprintf("collective %d (%016x) instead of %d (%016x)", sequence, hash, c.sequence, c.hash))
		}
	}
	return nil
}

// slot returns the next of the two slots.
func (s *session) slot() int {
	s.windows++
	return s.windows % 2
}

func (s *session) sharedAllReduce(ctx context.Context, c *call, p *plan, v vector) error {
	own, size := s.shared[s.rank], p.dtype.Size()
	for off := 0; off < v.size || off == 0; off += window {
		slot, length := s.slot(), min(window, v.size-off)
		v.read(own.input(slot)[:length], off)
		own.describe(slot, c, v.size)
		if err := s.enter(ctx, c, slot, off == 0); err != nil {
			return err
		}
		if v.size <= small {
			s.staging = grow(s.staging, s.n*length)
			for rank, m := range s.shared {
				s.parts[rank] = s.staging[rank*length : (rank+1)*length]
				copy(s.parts[rank], m.input(slot))
			}
			treeReduce(p, s.parts)
			v.write(s.parts[0], 0)
			return nil
		}
		part := func(rank int) int { return length / size * rank / s.n * size }
		for at := part(s.rank); at < part(s.rank+1); {
			chunk := p.chunkOf(off + at)
			_, end := p.chunk(chunk)
			end = min(end-off, part(s.rank+1))
			// The pieces are small enough to stay in the cache while they are added.
			end = min(end, at+16<<10)
			chainReduce(p, chunk, own.output(slot)[at:end], func(rank int) []byte { return s.shared[rank].input(slot)[at:end] })
			at = end
		}
		s.publish()
		if err := s.await(ctx, c); err != nil {
			return err
		}
		for rank, m := range s.shared {
			v.write(m.output(slot)[part(rank):part(rank+1)], off+part(rank))
		}
	}
	return nil
}

func (s *session) sharedBroadcast(ctx context.Context, c *call, v vector) error {
	for off := 0; off < v.size || off == 0; off += window {
		slot, length := s.slot(), min(window, v.size-off)
		if s.rank == c.root {
			v.read(s.shared[s.rank].input(slot)[:length], off)
		}
		s.shared[s.rank].describe(slot, c, v.size)
		if err := s.enter(ctx, c, slot, off == 0); err != nil {
			return err
		}
		if s.rank != c.root {
			v.write(s.shared[c.root].input(slot)[:length], off)
		}
	}
	return nil
}

func (s *session) sharedAllGather(ctx context.Context, c *call, own []byte) ([][]byte, error) {
	results, longest := make([][]byte, s.n), 0
	for off := 0; off < longest || off == 0; off += window {
		slot := s.slot()
		if off < len(own) {
			copy(s.shared[s.rank].input(slot), own[off:])
		}
		s.shared[s.rank].describe(slot, c, len(own))
		if err := s.enter(ctx, c, slot, off == 0); err != nil {
			return nil, err
		}
		for rank, m := range s.shared {
			if off == 0 {
				_, _, size := m.described(slot)
				if size < 0 || size > MaxGather {
					return nil, s.mismatch(c, rank, fmt.Sprintf("an announcement of %d bytes, more than MaxGather", size))
				}
				results[rank] = grow(nil, size)
				longest = max(longest, size)
			}
			if rank != s.rank && off < len(results[rank]) {
				copy(results[rank][off:], m.input(slot))
			}
		}
	}
	results[s.rank] = own
	return results, nil
}
