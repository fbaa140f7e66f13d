package parameterserver

import (
	"os"
	"runtime/debug"
	"sync"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// garbageBytes is about how much garbage a server may accumulate before it is collected, whatever the size of its
// variables. By default Go waits until there is as much garbage as memory in use, so a server with large variables
// would take twice their memory. Collecting is cheap, because the variables contain no pointers.
const garbageBytes = 4 << 20

// garbagePercent returns the GOGC setting for the given bytes of variables: a thirtieth of them, if that is more than
// garbageBytes.
func garbagePercent(bytes int) int {
	if bytes <= garbageBytes {
		return 100
	}
	return max(garbageBytes/(bytes/100+1), 3)
}

// inUse is the memory in use by the running servers of this process; there is one, except in tests.
type inUse struct {
	mu      sync.Mutex
	serving int
	bytes   map[*Server]int // of the variables of each server, and of each copy
	set     int             // bytes that the setting is for
	before  int             // the setting without servers
}

var garbage inUse

// grow notes the bytes of a server. The caller holds the lock.
func (g *inUse) grow(s *Server, n int) {
	g.bytes[s] = n
	total := 0
	for _, n := range g.bytes {
		total += n
	}
	if total > g.set+g.set/8 {
		g.set = total
		debug.SetGCPercent(min(garbagePercent(total), g.before))
	}
}

// tend sets how much garbage the process keeps while it serves, unless the environment variable GOGC does.
func (s *Server) tend() (stop func()) {
	if _, said := os.LookupEnv("GOGC"); said {
		return func() {}
	}
	s.mu.RLock()
	n := s.state.Bytes()
	s.mu.RUnlock()
	g := &garbage
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.serving++; g.serving == 1 {
		g.bytes, g.set, g.before = map[*Server]int{}, 0, debug.SetGCPercent(100)
	}
	g.grow(s, n)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.serving--; g.serving == 0 {
			g.bytes = nil
			debug.SetGCPercent(g.before)
		}
	}
}

// tendedCommands is the number of commands between two checks of the size of growing variables.
const tendedCommands = 256

// grown changes the setting after a command if the variables of the process have grown. The caller holds the lock.
func (s *Server) grown(c protocol.Command) {
	if _, created := c.(*protocol.Create); !created && s.commands.Load()%tendedCommands != 0 {
		return
	}
	n := s.state.Bytes()
	garbage.mu.Lock()
	defer garbage.mu.Unlock()
	if garbage.serving > 0 {
		garbage.grow(s, n)
	}
}
