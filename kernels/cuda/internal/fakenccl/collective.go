//go:build linux

package fakenccl

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// types maps the library's numbers to element types.
var types = []ir.DType{ir.Int8, ir.Uint8, ir.Int32, ir.Uint32, ir.Int64, ir.Uint64, ir.Float16, ir.Float32, ir.Float64, ir.BFloat16}

// request is a call on a communicator.
type request struct {
	name       string
	send, recv driver.Address
	in, out    int // in bytes
	t          nccl.DataType
	op         nccl.Op
	root       int // or the peer
	stream     driver.Handle
}

// call checks a request and puts its work into the stream, at the end of its group.
func (l *Library) call(h nccl.Comm, q request) nccl.Result {
	defer l.mu.Unlock()
	if r := l.enter(q.name); r != 0 {
		return r
	}
	c, thread := l.comms[h], unix.Gettid()
	if c == nil {
		return l.misused("%s on a communicator that was given back", q.name)
	}
	state := c.state(false)
	switch here := l.driver.Here(); {
	case here != c.device:
		return l.misused("%s of rank %d on device %d with the context of device %d", q.name, c.rank, c.device, here)
	case state == nccl.InProgress:
		return l.misused("%s while another call goes on", q.name)
	case int(q.t) >= len(types) || q.op > nccl.Avg || q.root < 0 || q.root >= c.ranks:
		return l.misused("%s with type %d, op %d, root %d", q.name, q.t, q.op, q.root)
	}
	if l.refuse && l.driver.Capturing(q.stream) {
		l.last = q.name + " cannot be captured"
		return nccl.InvalidUsage
	}
	put := func() nccl.Result {
		if l.driver.Retain(q.stream, func() { l.forget(c) }) {
			c.graphs++
		}
		var addresses []uint64
		for _, a := range []driver.Address{q.send, q.recv} {
			if a != 0 {
				addresses = append(addresses, uint64(a))
			}
		}
		if r := l.driver.Foreign(q.stream, c.device, q.name, func() error { return c.do(q) }, addresses...); r != 0 {
			return nccl.UnhandledCUDAError
		}
		return 0
	}
	if p := l.groups[thread]; p != nil {
		p.work, p.comms[c] = append(p.work, put), true
		return 0
	}
	return put()
}

// forget notes that a graph that used a communicator is gone.
func (l *Library) forget(c *comm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.graphs--
}

// do does a call's work in its stream. After an abort it leaves its output unchanged.
func (c *comm) do(q request) error {
	memory := &c.library.driver.Memory
	var in, out []byte
	if q.in > 0 && q.send != 0 {
		if in = memory.At(uint64(q.send)); len(in) < q.in {
			return fmt.Errorf("fakenccl: %s reads %d bytes of %d", q.name, q.in, len(in))
		}
		in = bytes.Clone(in[:q.in])
	}
	if q.out > 0 && q.recv != 0 {
		if out = memory.At(uint64(q.recv)); len(out) < q.out {
			return fmt.Errorf("fakenccl: %s writes %d bytes of %d", q.name, q.out, len(out))
		}
		out = out[:q.out]
	}
	w := c.library.world
	switch q.name {
	case "ncclSend":
		if !c.library.deaf.Load() {
			w.send(c.id, c.rank, q.root, in)
		}
		return nil
	case "ncclRecv":
		got := w.receive(c.id, q.root, c.rank, c.over)
		if c.aborted() {
			return nil
		}
		if len(got) != len(out) {
			return fmt.Errorf("fakenccl: rank %d sent %d bytes, rank %d expects %d", q.root, len(got), c.rank, len(out))
		}
		copy(out, got)
		return nil
	}
	return c.meet(q, in, out)
}

func (c *comm) aborted() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// meet waits for the other ranks and writes this rank's result.
func (c *comm) meet(q request, in, out []byte) error {
	at := c.step
	c.step++
	call := fmt.Sprint(q.name, " of ", q.in, " bytes, type ", q.t, ", op ", q.op, ", root ", q.root)
	brought, wrong := c.library.world.meet(c.id, part{Ranks: c.ranks, Rank: c.rank, Step: at, Call: call, Data: in, Absent: c.library.deaf.Load()}, c.over)
	if wrong != "" {
		return errors.New(wrong)
	}
	if f := c.library.Met; f != nil {
		f(q.name)
	}
	if c.aborted() {
		return nil
	}
	switch q.name {
	case "ncclBroadcast":
		copy(out, brought[q.root])
	case "ncclAllGather":
		for r, b := range brought {
			copy(out[r*len(in):], b)
		}
	case "ncclReduce":
		if q.root == c.rank {
			combine(out, brought, 0, types[q.t], q.op)
		}
	case "ncclReduceScatter":
		combine(out, brought, c.rank*len(out), types[q.t], q.op)
	default:
		combine(out, brought, 0, types[q.t], q.op)
	}
	return nil
}

// combine reduces the data at an offset, in rank order.
func combine(out []byte, all [][]byte, offset int, d ir.DType, op nccl.Op) {
	unit := d.Size()
	for i := range len(out) / unit {
		x := ir.Element(all[0][offset:], d, i)
		for _, b := range all[1:] {
			switch y := ir.Element(b[offset:], d, i); op {
			case nccl.Sum, nccl.Avg:
				x += y
			case nccl.Prod:
				x *= y
			case nccl.Max:
				x = max(x, y)
			case nccl.Min:
				x = min(x, y)
			}
		}
		if op == nccl.Avg {
			x /= float64(len(all))
		}
		if d == ir.Int32 && op == nccl.Sum {
			x = float64(int32(int64(x))) // sums that overflow wrap around
		}
		copy(out[i*unit:], ir.AppendElement(nil, d, x))
	}
}

func bytesOf(count int64, t nccl.DataType) int {
	if t < 0 || int(t) >= len(types) {
		return 0
	}
	return int(count) * types[t].Size()
}

func (l *Library) ranks(h nccl.Comm) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.comms[h]; c != nil {
		return c.ranks
	}
	return 0
}

func (l *Library) AllReduce(send, recv driver.Address, count int64, t nccl.DataType, op nccl.Op, c nccl.Comm, s driver.Handle) nccl.Result {
	n := bytesOf(count, t)
	return l.call(c, request{"ncclAllReduce", send, recv, n, n, t, op, 0, s})
}

func (l *Library) Broadcast(send, recv driver.Address, count int64, t nccl.DataType, root int, c nccl.Comm, s driver.Handle) nccl.Result {
	n := bytesOf(count, t)
	return l.call(c, request{"ncclBroadcast", send, recv, n, n, t, 0, root, s})
}

func (l *Library) Reduce(send, recv driver.Address, count int64, t nccl.DataType, op nccl.Op, root int, c nccl.Comm, s driver.Handle) nccl.Result {
	n := bytesOf(count, t)
	return l.call(c, request{"ncclReduce", send, recv, n, n, t, op, root, s})
}

func (l *Library) AllGather(send, recv driver.Address, count int64, t nccl.DataType, c nccl.Comm, s driver.Handle) nccl.Result {
	n := bytesOf(count, t)
	return l.call(c, request{"ncclAllGather", send, recv, n, n * l.ranks(c), t, 0, 0, s})
}

func (l *Library) ReduceScatter(send, recv driver.Address, count int64, t nccl.DataType, op nccl.Op, c nccl.Comm, s driver.Handle) nccl.Result {
	n := bytesOf(count, t)
	return l.call(c, request{"ncclReduceScatter", send, recv, n * l.ranks(c), n, t, op, 0, s})
}

func (l *Library) Send(send driver.Address, count int64, t nccl.DataType, peer int, c nccl.Comm, s driver.Handle) nccl.Result {
	return l.call(c, request{"ncclSend", send, 0, bytesOf(count, t), 0, t, 0, peer, s})
}

func (l *Library) Recv(recv driver.Address, count int64, t nccl.DataType, peer int, c nccl.Comm, s driver.Handle) nccl.Result {
	return l.call(c, request{"ncclRecv", 0, recv, 0, bytesOf(count, t), t, 0, peer, s})
}
