package collective

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// vectorReader fills two buffers with one call to the kernel.
type vectorReader struct {
	raw     syscall.RawConn
	buffers [2][]byte
	n       int
	err     error
	step    func(fd uintptr) bool // made once: a step leaves nothing for the garbage collector
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
	v.step = func(fd uintptr) bool {
		for {
			v.n, v.err = unix.Readv(int(fd), v.buffers[:])
			if v.err != unix.EINTR {
				return v.err != unix.EAGAIN
			}
		}
	}
}

// read fills first, and then more of second as far as data is there already. It returns how many bytes it read to both.
func (v *vectorReader) read(conn net.Conn, first, second []byte) (int, error) {
	if v.raw == nil {
		return conn.Read(first)
	}
	v.buffers = [2][]byte{first, second}
	err := v.raw.Read(v.step)
	v.buffers = [2][]byte{}
	switch {
	case err != nil:
		return 0, err
	case v.err != nil:
		return 0, os.NewSyscallError("readv", v.err)
	case v.n == 0:
		return 0, io.EOF
	}
	return v.n, nil
}
