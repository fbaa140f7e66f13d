package collective

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mapping is memory that workers of one host share. Only its owner, one worker, writes to it (except for the number
// of sleeping workers); the others read. It has no name in any file system: others open it through the owner's entry in
// /proc, so nothing is left behind if the owner dies.
//
//	0     a random number that proves that it is the right memory
//	64    counter: how often the owner has published
//	128   number of workers that sleep until the owner publishes
//	192   two slot headers: sequence, hash and size of the call
//	4096  two slots of input, two of results
type mapping struct {
	memory []byte
	file   int // of the owner; -1 for others
}

const (
	window       = 256 << 10 // bytes of a slot
	slotsOffset  = 4096
	mappingBytes = slotsOffset + 4*window
)

func newMapping() (m *mapping, note string, err error) {
	file, err := unix.MemfdCreate("gokeras-collective", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", fmt.Errorf("collective: shared memory: %w", err)
	}
	if err = unix.Ftruncate(file, mappingBytes); err == nil {
		m = &mapping{file: file}
		m.memory, err = unix.Mmap(file, 0, mappingBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(file) // the first error is the one to report
		return nil, "", fmt.Errorf("collective: shared memory: %w", err)
	}
	if _, err := rand.Read(m.memory[:8]); err != nil {
		m.close()
		return nil, "", fmt.Errorf("collective: %w", err)
	}
	return m, fmt.Sprintf("%d %d %x", os.Getpid(), file, m.memory[:8]), nil
}

// openMapping maps the memory that another worker's note describes. It fails if that worker is on another host or in
// another container.
func openMapping(note string) (*mapping, error) {
	var process, descriptor int
	var secret []byte
	if n, err := fmt.Sscanf(note, "%d %d %x", &process, &descriptor, &secret); err != nil || n != 3 || len(secret) != 8 || process <= 0 || descriptor < 0 {
		return nil, errors.New("collective: not a note about shared memory")
	}
	file, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", process, descriptor), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("collective: shared memory of process %d: %w", process, err)
	}
	defer func() { _ = unix.Close(file) }() // the mapping stays
	var info unix.Stat_t
	if err := unix.Fstat(file, &info); err != nil || info.Size != mappingBytes || info.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("collective: not shared memory of a worker")
	}
	memory, err := unix.Mmap(file, 0, mappingBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("collective: shared memory: %w", err)
	}
	if string(memory[:8]) != string(secret) {
		_ = unix.Munmap(memory) // the mapping is not used
		return nil, errors.New("collective: shared memory of another worker")
	}
	return &mapping{memory: memory, file: -1}, nil
}

func (m *mapping) close() {
	_ = unix.Munmap(m.memory) // fails for wrong arguments only
	if m.file >= 0 {
		_ = unix.Close(m.file)
	}
	m.memory = nil
}

func (m *mapping) word(offset int) *uint32 { return (*uint32)(unsafe.Pointer(&m.memory[offset])) }

// counter returns how often the owner has published, modulo 2^32.
func (m *mapping) counter() uint32 { return atomic.LoadUint32(m.word(64)) }

const (
	futexWait = 0
	futexWake = 1
)

// publish makes what the owner wrote visible to the others and wakes those that sleep.
func (m *mapping) publish() {
	word := m.word(64)
	atomic.AddUint32(word, 1)
	if atomic.LoadUint32(m.word(128)) != 0 {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<30, 0, 0, 0) // wakes as many as there are
	}
}

// sleep waits until the counter differs from seen, at most for d.
func (m *mapping) sleep(seen uint32, d time.Duration) {
	word := m.word(64)
	atomic.AddUint32(m.word(128), 1)
	timeout := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(seen), uintptr(unsafe.Pointer(&timeout)), 0, 0) // the caller looks again anyway
	atomic.AddUint32(m.word(128), ^uint32(0))
}

// input and output return the slots.
func (m *mapping) input(slot int) []byte {
	return m.memory[slotsOffset+slot*window:][:window]
}
func (m *mapping) output(slot int) []byte {
	return m.memory[slotsOffset+(2+slot)*window:][:window]
}

// describe writes to a slot which call the owner makes.
func (m *mapping) describe(slot int, c *call, size int) {
	header := m.memory[192+64*slot:]
	binary.NativeEndian.PutUint64(header[0:], c.sequence)
	binary.NativeEndian.PutUint64(header[8:], c.hash)
	binary.NativeEndian.PutUint64(header[16:], uint64(size))
}

// described reads what describe wrote.
func (m *mapping) described(slot int) (sequence, hash uint64, size int) {
	header := m.memory[192+64*slot:]
	return binary.NativeEndian.Uint64(header[0:]), binary.NativeEndian.Uint64(header[8:]), int(binary.NativeEndian.Uint64(header[16:]))
}
