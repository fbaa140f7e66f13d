package ptxsim

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// The instructions with which kernels on different devices and in different processes wait for each other.
func init() {
	word := func(m []byte) *uint32 { return (*uint32)(unsafe.Pointer(unsafe.SliceData(m))) }
	instructions["ld.acquire.sys.global.u32"] = func(t *thread, in *instruction) {
		if m := t.global(t.regs[in.a]+uint64(in.offset), 4, false); m != nil {
			t.regs[in.d] = uint64(atomic.LoadUint32(word(m)))
		}
	}
	instructions["st.release.sys.global.u32"] = func(t *thread, in *instruction) {
		if m := t.global(t.regs[in.d]+uint64(in.offset), 4, true); m != nil {
			atomic.StoreUint32(word(m), uint32(t.regs[in.a]))
		}
	}
	// Memory may be allocated and freed while a thread sleeps.
	instructions["nanosleep.u32"] = func(t *thread, in *instruction) {
		memory := t.block.memory
		memory.mu.RUnlock()
		time.Sleep(time.Duration(t.regs[in.d]) * time.Nanosecond)
		memory.mu.RLock()
	}
}
