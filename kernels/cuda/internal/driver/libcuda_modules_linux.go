package driver

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LoadModule also requests the compiler's log.
func (l *library) LoadModule(text string) (Handle, string, Result) {
	image := append([]byte(text), 0)
	const errorLog, errorLogBytes = 5, 6
	options := []int32{errorLog, errorLogBytes}
	l.loading.Lock()
	defer l.loading.Unlock()
	clear(l.log)
	values := []uintptr{uintptr(unsafe.Pointer(&l.log[0])), uintptr(len(l.log))}
	var m Handle
	r := l.moduleLoad(&m, &image[0], uint32(len(options)), &options[0], &values[0])
	return m, unix.ByteSliceToString(l.log), r
}

// Assemble links the text by itself: the linker is the call that returns the compiled binary.
func (l *library) Assemble(text string) ([]byte, string, Result) {
	const errorLog, errorLogBytes, inputPTX = 5, 6, 1
	image, name := append([]byte(text), 0), []byte("kernels\x00")
	log := make([]byte, logBytes)
	var pins runtime.Pinner // pins what the driver reads or writes through pointers that it keeps
	defer pins.Unpin()
	pins.Pin(&log[0])
	options, values := []int32{errorLog, errorLogBytes}, []uintptr{uintptr(unsafe.Pointer(&log[0])), logBytes}
	pins.Pin(&options[0])
	pins.Pin(&values[0])
	var state Handle
	if r := l.linkCreate(uint32(len(options)), &options[0], &values[0], &state); r != Success {
		return nil, "", r
	}
	defer l.linkDestroy(state)
	var at unsafe.Pointer
	var size uint64
	r := l.linkAdd(state, inputPTX, &image[0], uint64(len(image)), &name[0], 0, nil, nil)
	if r == Success {
		r = l.linkComplete(state, &at, &size)
	}
	if r != Success || at == nil {
		return nil, unix.ByteSliceToString(log), max(r, InvalidValue)
	}
	return append([]byte{}, unsafe.Slice((*byte)(at), size)...), "", Success // the memory belongs to the linker's state
}

// LoadBinary loads the result of Assemble.
func (l *library) LoadBinary(binary []byte) (Handle, Result) {
	var m Handle
	if len(binary) == 0 {
		return 0, InvalidValue
	}
	r := l.moduleLoad(&m, &binary[0], 0, nil, nil)
	return m, r
}

func (l *library) UnloadModule(m Handle) Result { return l.moduleUnload(m) }

func (l *library) Function(m Handle, name string) (Handle, Result) {
	var f Handle
	text := append([]byte(name), 0)
	r := l.moduleGetFunction(&f, m, &text[0])
	return f, r
}

func (l *library) AllowShared(f Handle, bytes int) Result {
	const maxDynamicSharedBytes = 8
	return l.functionSet(f, maxDynamicSharedBytes, int32(bytes))
}
