package pool

import (
	"sync"
	"unsafe"
)

// Recycler keeps values of one type for reuse, so that the arguments of a parallel region, which must live on the heap,
// are allocated once and not at each call. Unlike sync.Pool it keeps what it has over a garbage collection, so that a
// steady training step never allocates. The zero value is ready; it may be used from several goroutines.
type Recycler[T any] struct{ kept kept }

// kept is what a Recycler does for any type: for each of forty types it would be written out once more.
type kept struct {
	mu   sync.Mutex
	free []unsafe.Pointer
}

// Get returns a value that was put back, in the state it was put back in, or a new zero value.
func (r *Recycler[T]) Get() *T {
	if v := r.kept.take(); v != nil {
		return (*T)(v)
	}
	return new(T)
}

// Put keeps v for a later Get. The caller must not use v any more and should clear pointers to large memory in it
// first.
func (r *Recycler[T]) Put(v *T) { r.kept.put(unsafe.Pointer(v)) }

// take returns nil where nothing is kept.
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
