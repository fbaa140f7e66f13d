package pool

import "sync"

// Recycler keeps values of one type for reuse, so that the arguments of a parallel region, which must live on the heap,
// are allocated once and not at each call. Unlike sync.Pool it keeps what it has over a garbage collection, so that a
// steady training step never allocates. The zero value is ready; it may be used from several goroutines.
type Recycler[T any] struct {
	mu   sync.Mutex
	free []*T
}

// Get returns a value that was put back, in the state it was put back in, or a new zero value.
func (r *Recycler[T]) Get() *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		v := r.free[n-1]
		r.free = r.free[:n-1]
		return v
	}
	return new(T)
}

// Put keeps v for a later Get. The caller must not use v any more and should clear pointers to large memory in it
// first.
func (r *Recycler[T]) Put(v *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, v)
}
