//go:build linux

package cuda

// What belongs to a model that nobody can reach any more is given back when Go's collector finds it, and looked for
// where a device has too little memory (kernels/internal/unreachable). What was put into the stream before still finds
// the memory as it was, because it is given back in the order of the stream.

func (b *buffer) Discard()       { b.Free() }
func (q *queue) Discard()        { q.Close() }
func (s *session) Discard()      { s.Close() }
func (c *communicator) Discard() { c.Close() }
