package parameterserver

import (
	"os"
	"runtime/debug"
	"sync"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// garbageBytes is about how much garbage a server may let gather before it is collected, whatever its variables. Go
// waits for as much as there is memory in use: a server of large variables would come to take twice their memory.
// Collecting costs it little, for there are no pointers in its variables.
const garbageBytes = 4 << 20

// garbagePercent is Go's setting for so many bytes of variables: a thirtieth of them, if that is more than
// garbageBytes.
func garbagePercent(bytes int) int {
	if bytes <= garbageBytes {
		return 100
	}
	return max(garbageBytes/(bytes/100+1), 3)
}

// inUse is what the servers of this process have in use, as far as they serve: there is one, except in tests.
type inUse struct {
	mu      sync.Mutex
	serving int
	bytes   map[*Server]int // of the variables of each server, and of each copy
	set     int             // bytes that the setting is for
	before  int             // the setting without servers
}

var garbage inUse

// grow notes the bytes of a server. The lock is held.
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

// tend looks after the garbage of the process while it serves, unless the environment variable GOGC says how much of it
// there may be.
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

// tendedCommands is after how many commands variables that grow are looked at.
const tendedCommands = 256

// grown changes the setting after a command, when the variables of the process have grown. The lock is held.
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
