//go:build linux

package cuda

// Resources of a model that nobody can reach any more are released when Go's garbage collector finds them, which is
// triggered if a device has too little memory (kernels/internal/unreachable). Earlier work in the stream still finds
// the memory unchanged, because it is released in the order of the stream.

func (b *buffer) Discard()       { b.Free() }
func (q *queue) Discard()        { q.Close() }
func (s *session) Discard()      { s.Close() }
func (c *communicator) Discard() { c.Close() }
