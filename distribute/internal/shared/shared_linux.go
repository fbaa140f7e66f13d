package shared

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// seals keep the memory from being cut: what is mapped stays there.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// New makes memory of a size.
func New(size int) (*Memory, error) {
	file, err := unix.MemfdCreate("gokeras", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	m := &Memory{file: file}
	err = unix.Ftruncate(file, int64(headBytes+size))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals)
	}
	if err == nil {
		m.all, err = unix.Mmap(file, 0, headBytes+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		_, err = rand.Read(m.all[:8])
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	m.Bytes = m.all[headBytes:]
	m.note = fmt.Sprintf("%d %d %x", os.Getpid(), file, m.all[:8])
	return m, nil
}

// Open maps what a note describes. It fails where the owner is on another host, in another container, or of another
// user.
func Open(note string) (*Memory, error) {
	var process, descriptor int
	var secret []byte
	if n, err := fmt.Sscanf(note, "%d %d %x", &process, &descriptor, &secret); err != nil || n != 3 || len(secret) != 8 || process <= 0 || descriptor < 0 {
		return nil, fmt.Errorf("shared memory: %.100q is no note about it", note)
	}
	file, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", process, descriptor), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("shared memory of process %d: %w", process, err)
	}
	defer func() { _ = unix.Close(file) }() // the mapping stays
	var info unix.Stat_t
	got, err := unix.FcntlInt(uintptr(file), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals || unix.Fstat(file, &info) != nil || info.Size < headBytes || int(info.Uid) != os.Geteuid() {
		return nil, errors.New("shared memory: the note means something else")
	}
	m := &Memory{note: note}
	if m.all, err = unix.Mmap(file, 0, int(info.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if string(m.all[:8]) != string(secret) {
		m.Close()
		return nil, errors.New("shared memory: that of another process")
	}
	m.Bytes = m.all[headBytes:]
	return m, nil
}

// Close unmaps it here; others keep theirs.
func (m *Memory) Close() {
	if m.all != nil {
		_ = unix.Munmap(m.all) // fails for wrong arguments only
	}
	if m.file > 0 {
		_ = unix.Close(m.file)
	}
	m.all, m.Bytes, m.file = nil, nil, 0
}
