//go:build !linux

package shared

// New fails: this system has no shared memory.
func New(int) (*Memory, error) { return nil, ErrNone }

func newMemory(int, bool) (*Memory, error) { return nil, ErrNone }

// Open fails: this system has no shared memory.
func Open(string) (*Memory, error) { return nil, ErrNone }

// Close does nothing.
func (m *Memory) Close() { m.all, m.Bytes, m.file = nil, nil, 0 }
