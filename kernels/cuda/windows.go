//go:build linux

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// windows is a link without NCCL, between processes of one host with a GPU each. Every process has a window: memory of
// its device that the others have opened. In a round of a collective, each process copies its values into its window; a
// small kernel tells all others and waits for them; then each reads the windows of all. The hosts take no part, so that
// rounds can be captured.
//
// A window has two halves, which rounds use in turn. A process that has come to a round has read everything from the
// round before the last, so that half can be written again. Launches begin with the first half; one with an odd number
// of rounds ends with a kernel that waits.
type windows struct {
	link   *link
	device *device
	rank   int
	peers  []driver.Address // of the windows of all ranks, as this process sees them
	table  driver.Address   // the same, for kernels
	module driver.Handle
	kernel driver.Handle
	urgent driver.Handle // a stream for the message that ends waiting
	half   int
	rounds int
	args   [3]uint64
}

// windowBytes is how many bytes of a replica's values fit into a half.
var windowBytes = 4 << 20

// Layout of a window: a word for each rank, which counts how often it has come; how often the own rank has; whether to
// stop waiting; what a failure flag then says; and the halves.
const signalStride = 64

func (w *windows) counterAt() int64 { return int64(rounded(signalStride * len(w.peers))) }
func (w *windows) abortAt() int64   { return w.counterAt() + flagSlot }
func (w *windows) deadAt() int64    { return w.abortAt() + flagSlot }
func (w *windows) headBytes() int64 { return w.deadAt() + flagSlot }

// halfBytes is the size of a half: a failure flag, the replica's values, and its share of the results.
func halfBytes() int64 { return int64(flagSlot + 2*windowBytes) }

// mostRanks is how many ranks a block of threads has room for.
const mostRanks = 1024

// newWindows makes the window of a process.
func newWindows(d *device, rank, ranks int) (w *windows, err error) {
	w = &windows{device: d, rank: rank, peers: make([]driver.Address, ranks)}
	defer func() {
		if err != nil {
			w.release()
		}
	}()
	text := meetText(w)
	err = d.enqueue(func() error {
		bytes := w.headBytes() + 2*halfBytes()
		a, r := d.API.AllocShared(bytes)
		if r != driver.Success {
			return d.Err(r, "cuMemAlloc_v2")
		}
		w.peers[rank] = a
		if err := d.Err(d.API.Fill(a, 0, w.headBytes(), d.Stream), "cuMemsetD8Async"); err != nil {
			return err
		}
		if w.urgent, r = d.API.NewStream(); r != driver.Success {
			return d.Err(r, "cuStreamCreateWithPriority")
		}
		var log string
		if w.module, log, r = d.API.LoadModule(text); r != driver.Success {
			return driver.Check(d.API, r, "cuModuleLoadDataEx", "the kernel that waits for other processes on %v: %s", d.name, log)
		}
		if w.kernel, r = d.API.Function(w.module, "meet"); r != driver.Success {
			return d.Err(r, "cuModuleGetFunction")
		}
		return d.Err(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize")
	})
	return w, err
}

// handle identifies the window in the other processes.
func (w *windows) handle() (h driver.SharedMemory, err error) {
	err = w.device.enqueue(func() error {
		var r driver.Result
		h, r = w.device.API.SharedHandle(w.peers[w.rank])
		return w.device.Err(r, "cuIpcGetMemHandle")
	})
	return h, err
}

// open opens the windows of the others.
func (w *windows) open(all []driver.SharedMemory) error {
	d := w.device
	table := make([]byte, 0, 8*len(all))
	err := d.enqueue(func() error {
		for rank, h := range all {
			if rank != w.rank {
				var r driver.Result
				if w.peers[rank], r = d.API.OpenShared(h); r != driver.Success {
					return driver.Check(d.API, r, "cuIpcOpenMemHandle_v2", "memory of worker %d on %v", rank, d.name)
				}
			}
			table = binary.LittleEndian.AppendUint64(table, uint64(w.peers[rank]))
		}
		return nil
	})
	if err == nil {
		w.table, err = d.alloc(int64(len(table)), "the addresses of windows")
	}
	if err != nil {
		return err
	}
	block, err := d.takeBlock(len(table))
	if err != nil {
		return err
	}
	copy(block.memory, table)
	err = d.enqueue(func() error {
		if err := d.Err(d.API.CopyToDevice(w.table, block.memory[:len(table)], d.Stream), "cuMemcpyHtoDAsync_v2"); err != nil {
			return err
		}
		return d.record(block, d.Stream)
	})
	d.keepBlock(block)
	return err
}

// meetText is the kernel in which ranks wait for each other. Its parameters are the window, the table of all, and the
// rank; it has a thread for each rank.
func meetText(w *windows) string {
	k := &ptx.Kernel{MaxThreads: len(w.peers)}
	window, table, rank := k.Pointer(), k.Pointer(), k.Param()
	thread := k.Reg(ptx.B32)
	k.Line("mov.u32 %v, %%tid.x", thread)
	wide := k.Op(ptx.B64, "cvt.u64.u32", thread)
	counter := k.Reg(ptx.B32)
	k.Line("ld.global.u32 %v, [%v+%d]", counter, window, w.counterAt())
	epoch := k.Op(ptx.B32, "add.u32", counter, ptx.Int32(1))
	k.Barrier()
	first := k.Op(ptx.Pred, "setp.eq.u32", thread, ptx.Int32(0))
	k.Line("@%v st.global.u32 [%v+%d], %v", first, window, w.counterAt(), epoch)
	place := k.Op(ptx.B64, "mad.lo.u64", wide, ptx.Int64(8), table)
	peer := k.Reg(ptx.B64)
	k.Line("ld.global.u64 %v, [%v]", peer, place)
	slot := k.Op(ptx.B64, "mad.lo.u64", rank, ptx.Int64(signalStride), peer)
	k.Line("st.release.sys.global.u32 [%v], %v", slot, epoch)
	k.Barrier() // all ranks are told before any is waited for
	own := k.Op(ptx.B64, "mad.lo.u64", wide, ptx.Int64(signalStride), window)
	again, over := k.Label(), k.Label()
	k.Place(again)
	came, ahead, stop := k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B32)
	k.Line("ld.acquire.sys.global.u32 %v, [%v]", came, own)
	k.To(ahead, "sub.u32", came, epoch) // the count may wrap
	k.BranchIf(k.Op(ptx.Pred, "setp.ge.s32", ahead, ptx.Int32(0)), over)
	k.Line("ld.acquire.sys.global.u32 %v, [%v+%d]", stop, window, w.abortAt())
	going := k.Op(ptx.Pred, "setp.eq.u32", stop, ptx.Int32(0))
	k.Line("@!%v st.release.sys.global.u32 [%v+%d], %v", going, window, w.deadAt(), ptx.Int32(-1))
	k.BranchUnless(going, over)
	k.Line("nanosleep.u32 100")
	k.Branch(again)
	k.Place(over)
	return ptx.Header + k.Text("meet")
}

// meet puts the waiting into a stream.
func (w *windows) meet(stream driver.Handle) error {
	w.args = [3]uint64{uint64(w.peers[w.rank]), uint64(w.table), uint64(w.rank)}
	c := driver.Config{Grid: [3]uint32{1, 1, 1}, Block: uint32(len(w.peers)), Stream: stream}
	return w.device.Err(w.device.API.Launch(w.kernel, c, w.args[:]), "cuLaunchKernel")
}

func (w *windows) name() string { return "memory that their processes have opened" }

func (w *windows) records() bool { return true }

func (w *windows) lost(int) error { return nil }

func (w *windows) begin(*group) { w.half, w.rounds = 0, 0 }

func (w *windows) end(*group) (int, error) {
	if w.rounds%2 == 0 {
		return 0, nil
	}
	d := w.device
	if err := d.Enter(); err != nil {
		return 0, err
	}
	defer d.Leave()
	return 0, w.meet(d.Stream)
}

// abort ends the waiting of kernels, including later ones.
func (w *windows) abort() {
	if d := w.device; w.urgent != 0 && d.Enter() == nil {
		d.API.Fill(w.peers[w.rank]+driver.Address(w.abortAt()), 1, 4, w.urgent)
		d.Leave()
	}
}

// finish waits until nobody reads this window any more.
func (w *windows) finish(ctx context.Context) error {
	d := w.device
	block, err := d.takeBlock(1)
	if err != nil {
		return err
	}
	defer d.keepBlock(block)
	err = d.enqueue(func() error { return errors.Join(w.meet(d.Stream), d.record(block, d.Stream)) })
	for err == nil {
		r := driver.NotReady
		if err = d.Enter(); err == nil {
			r = d.API.QueryEvent(block.event)
			d.Leave()
		}
		switch {
		case err != nil:
		case r == driver.Success:
			return nil
		case r != driver.NotReady:
			err = d.Err(r, "cuEventQuery")
		default:
			select {
			case <-ctx.Done():
				err = fmt.Errorf("cuda: the other workers have not closed their windows: %w", context.Cause(ctx))
			case <-time.After(time.Millisecond):
			}
		}
	}
	return err
}

// release releases what the process has opened. The window itself stays if the others may not have noticed the end.
func (w *windows) release() {
	d := w.device
	d.enqueue(func() error {
		d.synchronize()
		if w.urgent != 0 {
			d.API.SynchronizeStream(w.urgent)
			d.API.DestroyStream(w.urgent)
			w.urgent = 0
		}
		for rank, a := range w.peers {
			switch {
			case a == 0:
			case rank != w.rank:
				d.API.CloseShared(a)
			case w.link != nil && !w.link.ended:
				d.retired = append(d.retired, a)
			default:
				d.API.FreeShared(a)
			}
			w.peers[rank] = 0
		}
		if w.module != 0 {
			d.API.UnloadModule(w.module)
			w.module = 0
		}
		return nil
	})
	if w.table != 0 {
		d.free(w.table, int64(8*len(w.peers)))
		w.table = 0
	}
}
