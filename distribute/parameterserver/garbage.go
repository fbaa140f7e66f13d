package parameterserver

import (
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

// tender keeps the garbage of a process that is a server small beside its variables.
type tender struct {
	mu    sync.Mutex
	bytes map[*Server]int // of the variables of each copy
	set   int             // bytes that the setting is for
}

// tend begins to look after the garbage, until stop.
func (s *Server) tend() (stop func()) {
	s.tender = &tender{bytes: map[*Server]int{}}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.state.Bytes()
	s.tender.bytes[s], s.tender.set = n, n
	before := debug.SetGCPercent(garbagePercent(n))
	return func() { debug.SetGCPercent(before) }
}

// tendedCommands is after how many commands variables that grow are looked at.
const tendedCommands = 256

// grown changes the setting after a command, when the variables of the process have grown. The lock is held.
func (s *Server) grown(c protocol.Command) {
	t := s.tender
	if s.root != nil {
		t = s.root.tender
	}
	if _, created := c.(*protocol.Create); t == nil || !created && s.commands.Load()%tendedCommands != 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes[s] = s.state.Bytes()
	total := 0
	for _, n := range t.bytes {
		total += n
	}
	if total > t.set+t.set/8 {
		t.set = total
		debug.SetGCPercent(garbagePercent(total))
	}
}
