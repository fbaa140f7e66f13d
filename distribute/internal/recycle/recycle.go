// Package recycle reuses the buffers of gRPC messages.
package recycle

import (
	"math/bits"
	"sync"
)

// Pool returns buffers by size, with arbitrary content. gRPC's own pool clears each buffer before use, which costs as
// much as receiving the data. The zero value is ready; it is safe for concurrent use.
type Pool struct{ sizes [31]sync.Pool }

// Buffers is the pool of the process.
var Buffers = new(Pool)

// Get returns a buffer of the given length.
func (p *Pool) Get(length int) *[]byte {
	class := bits.Len(uint(max(length, 1) - 1))
	if class >= len(p.sizes) {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p.sizes[class].Get().(*[]byte); ok {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, 1<<class)
	return &b
}

// Put takes a buffer back.
func (p *Pool) Put(b *[]byte) {
	if class := bits.Len(uint(max(cap(*b), 1) - 1)); class < len(p.sizes) && cap(*b) == 1<<class {
		p.sizes[class].Put(b)
	}
}
