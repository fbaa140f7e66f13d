// Package shared provides memory shared by processes of one host. It has no name in any file system: others open it
// through its owner's entry in /proc, so nothing is left behind if the owner dies. If that is impossible
// (other systems, other containers), New or Open fail, and callers use the network.
package shared

import "errors"

// Memory is a piece of shared memory.
type Memory struct {
	Bytes []byte
	note  string
	all   []byte
	file  int // of the owner; 0 for others
}

// Note is what another process needs to open the memory.
func (m *Memory) Note() string { return m.note }

// headBytes is the size of the head, which holds a random number that proves that it is the right memory.
const headBytes = 64

// ErrNone is the error on systems without shared memory.
var ErrNone = errors.New("shared memory: not on this system")
