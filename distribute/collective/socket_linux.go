package collective

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vectorReader fills many buffers with one call to the kernel.
type vectorReader struct {
	raw     syscall.RawConn
	vectors []unix.Iovec
	guard   *landing
	serial  uint64
	n       int
	err     error
	step    func(fd uintptr) bool // made once: a step leaves nothing for the garbage collector
	plainReader
}

func (v *vectorReader) init(conn net.Conn) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	v.raw = raw
	v.step = v.try
}

// try reads the available data, and reports whether there was any.
func (v *vectorReader) try(fd uintptr) bool {
	if v.guard != nil {
		v.guard.mu.Lock()
		defer v.guard.mu.Unlock()
		if v.guard.serial != v.serial {
			v.err = errLanded
			return true
		}
	}
	for {
		n, _, errno := syscall.Syscall(syscall.SYS_READV, fd, uintptr(unsafe.Pointer(&v.vectors[0])), uintptr(len(v.vectors)))
		if errno == 0 {
			v.n, v.err = int(n), nil
			return true
		}
		if errno != syscall.EINTR {
			v.err = os.NewSyscallError("readv", errno)
			return errno != syscall.EAGAIN
		}
	}
}

// read fills the buffers in turn with the available data, and waits only if there is none. It reads into the memory of
// guard only while the serial number is current; otherwise the error is errLanded.
func (v *vectorReader) read(conn net.Conn, buffers [][]byte, guard *landing, serial uint64) (int, error) {
	if v.raw == nil {
		return v.plainReader.read(conn, buffers, guard, serial)
	}
	v.vectors = v.vectors[:0]
	for _, b := range buffers {
		if len(b) > 0 {
			one := unix.Iovec{Base: &b[0]}
			one.SetLen(len(b))
			v.vectors = append(v.vectors, one)
		}
	}
	v.guard, v.serial, v.n, v.err = guard, serial, 0, nil
	err := v.raw.Read(v.step)
	clear(v.vectors)
	switch {
	case err != nil:
		return 0, err
	case v.err != nil:
		return 0, v.err
	case v.n == 0:
		return 0, io.EOF
	}
	return v.n, nil
}
