//go:build linux

package cuda

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The values of an all-reduce that NCCL combines directly can be laid end to end in scratch memory, grouped by type,
// and combined in packs of equal lengths, as tf.distribute's NcclAllReduce does with num_packs.

// pack is a stretch of scratch memory.
type pack struct {
	at    int64
	count int64 // elements
	kind  nccl.DataType
	op    nccl.Op
}

// planPacks gives values places, and divides them into packs.
func (g *group) planPacks(c *combining, op ir.Op) {
	if g.packs == 0 || op != ir.AllReduce {
		return
	}
	type lot struct {
		kind nccl.DataType
		op   nccl.Op
	}
	var lots []lot
	members := map[lot][]*linkedValue{}
	for k := range c.linked {
		if v := &c.linked[k]; !v.skip && v.way == direct {
			l := lot{v.kind, v.op}
			if members[l] == nil {
				lots = append(lots, l)
			}
			members[l] = append(members[l], v)
		}
	}
	for _, l := range lots {
		begin, total := c.needs, 0
		for _, v := range members[l] {
			v.packed, v.travels = true, begin+int64(total*v.unit)
			total += v.length
		}
		unit := members[l][0].unit
		c.needs += int64(rounded(total * unit))
		for i := range g.packs {
			if low, high := share(i, g.packs, total, unit); high > low {
				c.packs = append(c.packs, pack{begin + int64(low), int64((high - low) / unit), l.kind, l.op})
			}
		}
	}
}

// move copies packed values to their places, or the results from there.
func (g *group) movePacked(replica int, d *device, c *combining, back bool) error {
	for k := range c.linked {
		v := &c.linked[k]
		if !v.packed {
			continue
		}
		to, from := g.areas[replica].scratch+driver.Address(v.travels), g.operand(replica, k)
		if back {
			to, from = g.result(replica, k), to
		}
		if err := d.Err(d.API.CopyOnDevice(to, from, int64(v.operand), g.lanes[replica]), "cuMemcpyDtoDAsync_v2"); err != nil {
			return err
		}
	}
	return nil
}

// callsPacks combine the packs.
func (g *group) callsPacks(replica int, m *caller) {
	for _, p := range g.of(replica).packs {
		if at := g.areas[replica].scratch + driver.Address(p.at); m.ok() {
			m.done(m.api.AllReduce(at, at, p.count, p.kind, p.op, m.comm, m.stream), "ncclAllReduce")
		}
	}
}
