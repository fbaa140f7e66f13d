package collective

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The collectives over streams. Received frames are processed in the order of their arrival; how depends on their round
// and index alone, so the result does not depend on that order.

// grow returns a buffer of at least n bytes, reusing the old one, aligned for every type.
func grow(buffer []byte, n int) []byte {
	if cap(buffer) < n {
		return numbers.Bytes(make([]uint64, (n+7)/8))[:n]
	}
	return buffer[:n]
}

// streamAllReduce reduces v over all ranks, in place.
func (s *session) streamAllReduce(ctx context.Context, c *call, p *plan, v vector) error {
	data := []byte(nil)
	if len(v.parts) == 1 {
		data = v.parts[0].Data
	} else {
		s.scratch = grow(s.scratch, v.size)
		data = s.scratch
		v.read(data, 0)
	}
	var err error
	switch {
	case v.size > small:
		err = s.ring(ctx, c, p, data)
	case s.n == 2 && !p.narrow:
		err = s.exchange(ctx, c, p, data)
	default:
		err = s.tree(ctx, c, p, data)
	}
	s.lent.wait(s.over)
	if err == nil && len(v.parts) != 1 {
		v.write(data, 0)
	}
	return err
}

// sendSegment sends a range of the data, as bfloat16 if the plan says so.
func (s *session) sendSegment(c *call, p *plan, to, round, index int, data []byte) error {
	if !p.narrow {
		return s.send(c, to, round, index, s.lent.lend(data))
	}
	packed := make([]uint16, len(data)/4)
	packBFloat16(packed, numbers.View[float32](data))
	return s.send(c, to, round, index, s.lent.lend(numbers.Bytes(packed)))
}

// wireSize is the number of bytes that n bytes of data take on the wire.
func (p *plan) wireSize(n int) int {
	if p.narrow {
		return n / 2
	}
	return n
}

// take copies a received payload to dst, which it must fill.
func (s *session) take(c *call, p *plan, from int, f *frame, dst []byte) error {
	defer f.free()
	if f.size() != p.wireSize(len(dst)) {
		return s.mismatch(c, from, fmt.Sprintf("%d bytes instead of %d", f.size(), p.wireSize(len(dst))))
	}
	if !p.narrow {
		f.copyTo(dst)
		return nil
	}
	packed := make([]uint16, len(dst)/4)
	f.copyTo(numbers.Bytes(packed))
	unpackBFloat16(numbers.View[float32](dst), packed)
	return nil
}

// takeAdd reduces a received payload into dst, which it must fit: dst = received op dst.
func (s *session) takeAdd(c *call, p *plan, from int, f *frame, dst []byte) error {
	size := p.dtype.Size()
	if p.narrow {
		size = 2
	}
	if f.size() != p.wireSize(len(dst)) || !f.whole(size) {
		s.staging = grow(s.staging, len(dst))
		if err := s.take(c, p, from, f, s.staging); err != nil {
			return err
		}
		reduceBytes(p.dtype, p.op, dst, s.staging, dst)
		return nil
	}
	defer f.free()
	f.each(func(at int, piece []byte) {
		if !p.narrow {
			target := dst[at : at+len(piece)]
			reduceBytes(p.dtype, p.op, target, piece, target)
			return
		}
		target := dst[2*at : 2*(at+len(piece))]
		s.staging = grow(s.staging, len(target))
		unpackBFloat16(numbers.View[float32](s.staging), numbers.View[uint16](piece))
		reduceBytes(p.dtype, p.op, target, s.staging, target)
	})
	return nil
}

func (s *session) ring(ctx context.Context, c *call, p *plan, data []byte) error {
	r := newRing(*p, p.segmentBytes(s.group.settings.SegmentBytes))
	if !p.narrow {
		s.group.transport.landing.begin(r, s.view.ID.Digest, c, data)
		defer s.group.transport.landing.end()
	}
	right, left := (s.rank+1)%s.n, (s.rank+s.n-1)%s.n
	for {
		for own, ok := r.next(); ok; own, ok = r.next() {
			from, to := r.span(r.outgoing(own.round), own.index)
			if err := s.sendSegment(c, p, right, own.round, own.index, data[from:to]); err != nil {
				return err
			}
		}
		if r.done() {
			return nil
		}
		f, err := s.recv(ctx, c, left)
		if err != nil {
			return err
		}
		got := segment{int(f.round), int(f.index)}
		if !r.valid(got) {
			f.free()
			return s.mismatch(c, left, fmt.Sprintf("a segment %+v that is not part of the ring", got))
		}
		from, to, add, complete, forward, onward := r.accept(got)
		target := data[from:to]
		if !add {
			err = s.take(c, p, left, f, target)
		} else if err = s.takeAdd(c, p, left, f, target); err == nil && complete {
			p.finish(target)
		}
		if err == nil && forward {
			err = s.sendSegment(c, p, right, onward.round, onward.index, target)
		}
		if err != nil {
			return err
		}
	}
}

// exchange is the all-reduce of two workers for small data: each sends all of its data.
func (s *session) exchange(ctx context.Context, c *call, p *plan, data []byte) error {
	other := 1 - s.rank
	if err := s.send(c, other, 0, 0, s.lent.lend(append([]byte(nil), data...))); err != nil {
		return err
	}
	f, err := s.recv(ctx, c, other)
	if err != nil {
		return err
	}
	s.staging = grow(s.staging, len(data))
	if err := s.take(c, p, other, f, s.staging); err != nil {
		return err
	}
	if s.rank == 0 {
		reduceBytes(p.dtype, p.op, data, data, s.staging)
	} else {
		reduceBytes(p.dtype, p.op, data, s.staging, data)
	}
	p.finish(data)
	return nil
}

// tree is the all-reduce for small data: up a binomial tree to rank 0, and down again.
func (s *session) tree(ctx context.Context, c *call, p *plan, data []byte) error {
	s.staging = grow(s.staging, len(data))
	top := 1
	for ; top < s.n && s.rank&top == 0; top <<= 1 {
		if child := s.rank + top; child < s.n {
			f, err := s.recv(ctx, c, child)
			if err == nil {
				err = s.take(c, p, child, f, s.staging)
			}
			if err != nil {
				return err
			}
			reduceBytes(p.dtype, p.op, data, data, s.staging)
		}
	}
	if s.rank > 0 {
		parent := s.rank - top
		if err := s.sendSegment(c, p, parent, 0, 0, append([]byte(nil), data...)); err != nil {
			return err
		}
		f, err := s.recv(ctx, c, parent)
		if err == nil {
			err = s.take(c, p, parent, f, data)
		}
		if err != nil {
			return err
		}
	} else {
		p.finish(data)
	}
	for mask := top >> 1; mask > 0; mask >>= 1 {
		if child := s.rank + mask; child < s.n {
			if err := s.sendSegment(c, p, child, 1, 0, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamBroadcast sends v from root to all: small data down a binomial tree, larger data along a chain in segments.
func (s *session) streamBroadcast(ctx context.Context, c *call, v vector) error {
	p := &plan{}
	distance := modulo(s.rank-c.root, s.n)
	rankAt := func(d int) int { return (c.root + d) % s.n }
	piece := s.group.settings.SegmentBytes
	s.staging = grow(s.staging, min(piece, max(v.size, 1)))
	var next []int
	from := -1
	if v.size <= small {
		mask := 1
		for ; mask < s.n && distance&mask == 0; mask <<= 1 {
		}
		if distance > 0 {
			from = rankAt(distance - mask)
		}
		for mask >>= 1; mask > 0; mask >>= 1 {
			if distance+mask < s.n {
				next = append(next, rankAt(distance+mask))
			}
		}
	} else {
		if distance > 0 {
			from = rankAt(distance - 1)
		}
		if distance+1 < s.n {
			next = append(next, rankAt(distance+1))
		}
	}
	for at, index := 0, 0; at < v.size || index == 0; at, index = at+piece, index+1 {
		size := min(piece, v.size-at)
		if from >= 0 {
			f, err := s.recv(ctx, c, from)
			if err == nil {
				err = s.take(c, p, from, f, s.staging[:size])
			}
			if err != nil {
				return err
			}
			v.write(s.staging[:size], at)
		}
		for _, to := range next {
			out := make([]byte, size)
			v.read(out, at)
			if err := s.send(c, to, 0, index, s.lent.lend(out)); err != nil {
				return err
			}
		}
	}
	// Otherwise the root could be gone before the others notice that the calls differ.
	return s.tree(ctx, c, &plan{dtype: ir.Uint8, rank: s.rank, n: s.n}, nil)
}

const gatherHeader = 1<<32 - 1 // index of the frame that gives the size of what follows

// streamAllGather returns the contribution of each rank. All contributions travel around the ring.
func (s *session) streamAllGather(ctx context.Context, c *call, own []byte) ([][]byte, error) {
	defer s.lent.wait(s.over)
	p := &plan{}
	right, left := (s.rank+1)%s.n, (s.rank+s.n-1)%s.n
	piece := s.group.settings.SegmentBytes
	g := &gathering{results: make([][]byte, s.n), sizes: make([]int, s.n), at: make([]int, s.n)}
	g.results[s.rank] = own
	for rank := range g.sizes {
		g.sizes[rank] = -1
	}
	header := binary.LittleEndian.AppendUint64(nil, uint64(len(own)))
	if err := s.send(c, right, 0, gatherHeader, s.lent.lend(header)); err != nil {
		return nil, err
	}
	sent, received, missing := 0, 0, s.n-1
	for missing > 0 || sent < len(own) {
		for sent < len(own) && (missing == 0 || sent/piece < received+lead) {
			end := min(sent+piece, len(own))
			if err := s.send(c, right, 0, sent/piece, s.lent.lend(own[sent:end])); err != nil {
				return nil, err
			}
			sent = end
		}
		if missing == 0 {
			continue
		}
		f, err := s.recv(ctx, c, left)
		if err != nil {
			return nil, err
		}
		received++
		round, index := int(f.round), int(f.index)
		data, complete, err := s.gather(c, p, g, f)
		if err != nil {
			return nil, err
		}
		if complete {
			missing--
		}
		if round+1 < s.n-1 {
			if err := s.send(c, right, round+1, index, s.lent.lend(data)); err != nil {
				return nil, err
			}
		}
	}
	return g.results, nil
}

// gathering tracks how much of each rank's contribution has arrived.
type gathering struct {
	results   [][]byte
	sizes, at []int // sizes are -1 until they are announced
}

// gather takes one frame from the left: the size of a contribution or its next part. It returns the frame's content, to
// be sent on, and whether that contribution is complete.
func (s *session) gather(c *call, p *plan, g *gathering, f *frame) (data []byte, complete bool, err error) {
	left, piece := (s.rank+s.n-1)%s.n, s.group.settings.SegmentBytes
	round, index := int(f.round), int(f.index)
	origin := modulo(s.rank-1-round, s.n)
	switch {
	case round >= s.n-1:
		f.free()
		return nil, false, s.mismatch(c, left, "a part of an unknown round")
	case index == gatherHeader:
		data = make([]byte, 8)
		if err := s.take(c, p, left, f, data); err != nil {
			return nil, false, err
		}
		size := binary.LittleEndian.Uint64(data)
		if size > MaxGather {
			return nil, false, s.mismatch(c, left, fmt.Sprintf("an announcement of %d bytes, more than MaxGather", size))
		}
		g.sizes[origin] = int(size)
		g.results[origin] = grow(nil, int(size))
	default:
		at := g.at[origin]
		size := min(piece, g.sizes[origin]-at)
		if g.sizes[origin] < 0 || size <= 0 || index != at/piece {
			f.free()
			return nil, false, s.mismatch(c, left, "a part that is not the next one")
		}
		data = g.results[origin][at : at+size]
		if err := s.take(c, p, left, f, data); err != nil {
			return nil, false, err
		}
		g.at[origin] += size
	}
	return data, g.at[origin] == g.sizes[origin], nil
}
