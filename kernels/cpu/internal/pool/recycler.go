package pool

import (
	"sync"
	"unsafe"
)

// Recycler keeps values of one type for reuse. The arguments of a parallel region must be on the heap; with a Recycler
// they are allocated once, not at each call. Unlike sync.Pool, it keeps its values across garbage collections, so a
// steady training step never allocates. The zero value is ready to use, by several goroutines too.
type Recycler[T any] struct{ kept kept }

// kept is the part of Recycler that is the same for all types: the compiler would repeat it for each of forty types.
type kept struct {
	mu   sync.Mutex
	free []unsafe.Pointer
}

// Get returns a value that was put back, in the state in which it was put back, or a new zero value.
func (r *Recycler[T]) Get() *T {
	if v := r.kept.take(); v != nil {
		return (*T)(v)
	}
	return new(T)
}

// Put keeps v for a later Get. The caller must not use v any more, and should clear its pointers to large memory first.
func (r *Recycler[T]) Put(v *T) { r.kept.put(unsafe.Pointer(v)) }

// take returns nil if nothing is kept.
func (r *kept) take() (v unsafe.Pointer) {
	r.mu.Lock()
	if n := len(r.free); n > 0 {
		v = r.free[n-1]
		r.free = r.free[:n-1]
	}
	r.mu.Unlock()
	return v
}

//go:noinline
func (r *kept) put(v unsafe.Pointer) {
	r.mu.Lock()
	r.free = append(r.free, v)
	r.mu.Unlock()
}
