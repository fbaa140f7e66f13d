package driver

import "unsafe"

// The engines that copy between the host and a device are units of their own: a stream waits for one to begin and to
// end, some microseconds each, however few bytes there are. A kernel in the stream reads or writes host memory that
// does not move as it does the device's, by the same address.

// copyWords is the kernel: a thread for each word.
const copyWords = `.version 6.4
.target sm_75
.address_size 64
.visible .entry kernel_0(.param .u64 param_0, .param .u64 param_1, .param .u64 param_2)
.maxntid 1024, 1, 1
{
	.reg .b32 %r<5>;
	.reg .b64 %d<7>;
	.reg .pred %p<2>;
	ld.param.u64 %d1, [param_0];
	ld.param.u64 %d2, [param_1];
	ld.param.u64 %d3, [param_2];
	cvta.to.global.u64 %d1, %d1;
	cvta.to.global.u64 %d2, %d2;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.s32 %r3, %r1, %r2, %r3;
	cvt.u64.u32 %d4, %r3;
	setp.ge.u64 %p1, %d4, %d3;
	@%p1 bra L1;
	shl.b64 %d4, %d4, 2;
	add.s64 %d5, %d2, %d4;
	ld.global.b32 %r4, [%d5];
	add.s64 %d6, %d1, %d4;
	st.global.b32 [%d6], %r4;
L1:
	ret;
}
`

// copier is the kernel for a stream.
type copier struct{ module, function Handle }

const (
	mostCopied = 16 << 10 // bytes that a kernel copies
	wordBytes  = 4
	mostBlock  = 1024
)

// CopyByKernels says whether small copies between the host and the device in a stream, whose context is current, are
// made by a kernel.
func (l *library) CopyByKernels(stream Handle, on bool) Result {
	l.mu.Lock()
	c, there := l.copiers[stream]
	l.mu.Unlock()
	if there == on {
		return Success
	}
	if on {
		var r Result
		if c.module, _, r = l.LoadModule(copyWords); r != Success {
			return r
		}
		if c.function, r = l.Function(c.module, "kernel_0"); r != Success {
			l.UnloadModule(c.module)
			return r
		}
	}
	l.mu.Lock()
	if delete(l.copiers, stream); on {
		if l.copiers == nil {
			l.copiers = map[Handle]copier{}
		}
		l.copiers[stream] = c
	}
	l.mu.Unlock()
	if on {
		return Success
	}
	l.SynchronizeStream(stream)
	return l.UnloadModule(c.module)
}

// byKernel copies bytes where a kernel does so.
func (l *library) byKernel(to, from uintptr, bytes int, stream Handle) (r Result, done bool) {
	if bytes == 0 || bytes > mostCopied || (to|from|uintptr(bytes))%wordBytes != 0 {
		return 0, false
	}
	l.mu.Lock()
	c, there := l.copiers[stream]
	l.mu.Unlock()
	if !there {
		return 0, false
	}
	words := bytes / wordBytes
	block := min(mostBlock, (words+31)/32*32)
	args := [3]uint64{uint64(to), uint64(from), uint64(words)}
	return l.Launch(c.function, Config{Grid: [3]uint32{uint32((words + block - 1) / block), 1, 1}, Block: uint32(block), Stream: stream}, args[:]), true
}

func (l *library) CopyToDevice(to Address, from []byte, stream Handle) Result {
	if r, done := l.byKernel(uintptr(to), pointer(from), len(from), stream); done {
		return r
	}
	return l.call(toDevice, uintptr(to), pointer(from), uintptr(len(from)), uintptr(stream))
}

func (l *library) CopyToHost(to []byte, from Address, stream Handle) Result {
	if r, done := l.byKernel(pointer(to), uintptr(from), len(to), stream); done {
		return r
	}
	return l.call(toHost, pointer(to), uintptr(from), uintptr(len(to)), uintptr(stream))
}

func (l *library) DestroyStream(s Handle) Result {
	r := l.CopyByKernels(s, false)
	return max(r, l.streamDestroy(s))
}

func pointer(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
