package ptxsim

import (
	"fmt"
	"sync"
)

// Memory is the memory of a device: allocations that lie far from each other, so that an address outside of one belongs
// to none.
type Memory struct {
	mu     sync.RWMutex
	blocks [][]byte // by number; nil where it was freed
	bytes  int64
	live   int
}

// Each allocation has a range of addresses of its own.
const (
	rangeBits = 36
	firstBase = 16 // no address near 0
)

// Alloc takes memory, whose contents are garbage, and returns its address.
func (m *Memory) Alloc(bytes int) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	block := make([]byte, bytes)
	for i := range block {
		block[i] = 0xfb // as floats: large numbers
	}
	m.blocks = append(m.blocks, block)
	m.bytes += int64(bytes)
	m.live++
	return uint64(len(m.blocks)-1+firstBase) << rangeBits
}

// Map makes an allocation of memory that is not the simulator's own, as of another process.
func (m *Memory) Map(block []byte) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, block)
	m.bytes += int64(len(block))
	m.live++
	return uint64(len(m.blocks)-1+firstBase) << rangeBits
}

// Base is the address at which the allocation that an address belongs to begins.
func Base(address uint64) uint64 { return address &^ (1<<rangeBits - 1) }

// Free gives an allocation back.
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

// Live returns the number of allocations and their bytes.
func (m *Memory) Live() (allocations int, bytes int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.live, m.bytes
}

// At returns the memory from an address to the end of its allocation; nil where there is none.
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
