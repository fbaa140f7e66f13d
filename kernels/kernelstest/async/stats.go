package async

import (
	"fmt"
	"sync/atomic"
)

// Stats are what a backend has counted.
type Stats struct {
	Compiled                    int64 // programs
	Launches, Captures, Replays int64
	Uploads, Downloads, Copies  int64 // from the host, to the host, on the devices
	Synchronizations            int64 // reads, and waits for queues: the host waits for all that was asked for
	Waits                       int64 // for events that were not over

	// What is alive.
	Buffers, Executables, Sessions, Queues, Connections int64
	FreedTwice                                          int64
}

type counters struct {
	compiled, launches, captures, replays, uploads, downloads, copies, synchronizations, waits atomic.Int64
	buffers, executables, sessions, queues, connections, twice                                 atomic.Int64
}

// Stats returns the counts so far.
func (b *Backend) Stats() Stats {
	c := &b.stats
	return Stats{
		Compiled: c.compiled.Load(), Launches: c.launches.Load(), Captures: c.captures.Load(), Replays: c.replays.Load(),
		Uploads: c.uploads.Load(), Downloads: c.downloads.Load(), Copies: c.copies.Load(),
		Synchronizations: c.synchronizations.Load(), Waits: c.waits.Load(),
		Buffers: c.buffers.Load(), Executables: c.executables.Load(), Sessions: c.sessions.Load(), Queues: c.queues.Load(), Connections: c.connections.Load(),
		FreedTwice: c.twice.Load(),
	}
}

// Leaks is an error where more is alive than before.
func (s Stats) Leaks(before Stats) error {
	for _, x := range []struct {
		what     string
		now, was int64
	}{
		{"buffers", s.Buffers, before.Buffers}, {"executables", s.Executables, before.Executables}, {"sessions", s.Sessions, before.Sessions},
		{"queues", s.Queues, before.Queues}, {"connections", s.Connections, before.Connections}, {"buffers freed twice", s.FreedTwice, before.FreedTwice},
	} {
		if x.now > x.was {
			return fmt.Errorf("async: %d %s, there were %d before", x.now, x.what, x.was)
		}
	}
	return nil
}
