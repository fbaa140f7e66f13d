package ptxsim

import (
	"fmt"
	"sync"
)

// Memory is the memory of a device. Its allocations lie far apart, so that an address outside of one belongs to no
// other.
type Memory struct {
	mu     sync.RWMutex
	blocks [][]byte // by number; nil if freed
	bytes  int64
	live   int
}

// Each allocation has its own range of addresses.
const (
	rangeBits = 36
	firstBase = 16 // addresses near 0 are invalid
)

// Alloc allocates memory, filled with garbage, and returns its address.
func (m *Memory) Alloc(bytes int) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	block := make([]byte, bytes)
	for i := range block {
		block[i] = 0xfb // as floats, large numbers
	}
	m.blocks = append(m.blocks, block)
	m.bytes += int64(bytes)
	m.live++
	return uint64(len(m.blocks)-1+firstBase) << rangeBits
}

// Map adds an allocation in memory that the simulator does not own, such as another process's.
func (m *Memory) Map(block []byte) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, block)
	m.bytes += int64(len(block))
	m.live++
	return uint64(len(m.blocks)-1+firstBase) << rangeBits
}

// Base returns the first address of the allocation that an address belongs to.
func Base(address uint64) uint64 { return address &^ (1<<rangeBits - 1) }

// Free frees an allocation.
func (m *Memory) Free(address uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := int(address>>rangeBits) - firstBase
	if i < 0 || i >= len(m.blocks) || m.blocks[i] == nil || address&(1<<rangeBits-1) != 0 {
		return fmt.Errorf("ptxsim: %#x is not the address of an allocation", address)
	}
	m.bytes -= int64(len(m.blocks[i]))
	m.blocks[i] = nil
	m.live--
	return nil
}

// Live returns the number of allocations and their total size in bytes.
func (m *Memory) Live() (allocations int, bytes int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.live, m.bytes
}

// At returns the memory from an address to the end of its allocation; nil if there is none.
func (m *Memory) At(address uint64) []byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.at(address)
}

func (m *Memory) at(address uint64) []byte {
	i, offset := int(address>>rangeBits)-firstBase, address&(1<<rangeBits-1)
	if i < 0 || i >= len(m.blocks) || offset > uint64(len(m.blocks[i])) {
		return nil
	}
	return m.blocks[i][offset:]
}
