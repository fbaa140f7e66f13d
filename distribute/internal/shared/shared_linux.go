package shared

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/internal/memory"
)

// seals prevent the memory from being truncated, so that mapped memory stays valid.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// New creates shared memory of the given size.
func New(size int) (*Memory, error) { return newMemory(size, false) }

// newMemory is New; with huge it asks for huge pages, which are all allocated at once.
func newMemory(size int, huge bool) (*Memory, error) {
	whole := headBytes + size
	if huge = huge && whole >= memory.HugePage; huge {
		whole = (whole + memory.HugePage - 1) / memory.HugePage * memory.HugePage
	}
	file, err := unix.MemfdCreate("gokeras", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	m := &Memory{file: file}
	err = unix.Ftruncate(file, int64(whole))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals)
	}
	if err == nil {
		m.all, err = mapped(file, whole)
	}
	if err == nil && huge {
		collapse(m.all)
	}
	if err == nil {
		_, err = rand.Read(m.all[:8])
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	m.Bytes = m.all[headBytes : headBytes+size]
	m.note = fmt.Sprintf("%d %d %x", os.Getpid(), file, m.all[:8])
	return m, nil
}

// Open maps the memory that a note describes. It fails if the owner is on another host, in another container, or
// belongs to another user.
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
	if m.all, err = mapped(file, int(info.Size)); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if string(m.all[:8]) != string(secret) {
		m.Close()
		return nil, errors.New("shared memory: that of another process")
	}
	m.Bytes = m.all[headBytes:]
	return m, nil
}

// mapped maps a file. It maps a large one at a multiple of the huge-page size, because at other addresses it would be
// mapped in small pages.
func mapped(file, size int) ([]byte, error) {
	const protection = unix.PROT_READ | unix.PROT_WRITE
	if size < memory.HugePage {
		p, err := unix.MmapPtr(file, 0, nil, uintptr(size), protection, unix.MAP_SHARED)
		return unsafe.Slice((*byte)(p), size), err
	}
	free, err := unix.MmapPtr(-1, 0, nil, uintptr(size+memory.HugePage), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	before := -uintptr(free) & (memory.HugePage - 1)
	p, err := unix.MmapPtr(file, 0, unsafe.Add(free, before), uintptr(size), protection, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		_ = unix.MunmapPtr(free, uintptr(size+memory.HugePage)) // fails for wrong arguments only
		return nil, err
	}
	if before > 0 {
		_ = unix.MunmapPtr(free, before)
	}
	page := uintptr(unix.Getpagesize())
	if end := before + (uintptr(size)+page-1)&^(page-1); end < uintptr(size+memory.HugePage) {
		_ = unix.MunmapPtr(unsafe.Add(free, end), uintptr(size+memory.HugePage)-end)
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// collapse moves memory to huge pages, which systems give to files only on request. If the system refuses, only speed
// suffers.
func collapse(b []byte) {
	if unix.Madvise(b, unix.MADV_POPULATE_WRITE) == nil {
		_ = unix.Madvise(b, unix.MADV_COLLAPSE)
	}
}

// Close unmaps the memory in this process; other processes keep their mappings.
func (m *Memory) Close() {
	if m.all != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.all)), uintptr(len(m.all))) // fails for wrong arguments only
	}
	if m.file > 0 {
		_ = unix.Close(m.file)
	}
	m.all, m.Bytes, m.file = nil, nil, 0
}
