package exec

import (
	"context"
	"sync"

	"github.com/gokeras/gokeras/kernels"
)

// Named is a communicator that tells other processes which call its collectives belong to.
type Named interface{ SetCall(call WorkerCall) }

// communicatorSet connects the replicas of this process, and those of others if the strategy spans several.
type communicatorSet struct {
	ends []kernels.Communicator
	made int // generation of the pool
	told []Named
	met  map[WorkerCall]bool // calls that all processes have agreed on; see [communicatorSet.agree]
}

// agree makes sure that all processes are about to make the same call. It is for devices that cannot tell, and workers
// that come and go and so do not agree when they trace. It runs once for a program and a set; all processes make new
// sets at the same time.
func (s *communicatorSet) agree(ctx context.Context, at *Placement, call WorkerCall) error {
	if !at.Elastic || at.Group == nil || s.told != nil || s.met[call] {
		return nil
	}
	if err := at.Group.Agree(ctx, call); err != nil {
		return err
	}
	if s.met == nil {
		s.met = map[WorkerCall]bool{}
	}
	s.met[call] = true
	return nil
}

// communicatorPool holds the communicators of a strategy. A step takes a set and gives it back when all replicas have
// been launched; programs without collectives take none. So there are as many sets as steps that run at the same time,
// whatever the number of programs. A set that was aborted is closed and never used again.
type communicatorPool struct {
	mu   sync.Mutex
	idle []*communicatorSet
	made int // increases when the replicas change: earlier sets are no longer valid
}

// take returns a set. If none is idle, connect makes one.
func (p *communicatorPool) take(connect func() ([]kernels.Communicator, error)) (*communicatorSet, error) {
	p.mu.Lock()
	made := p.made
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	ends, err := connect()
	if err != nil {
		return nil, err
	}
	s := &communicatorSet{ends: ends, made: made}
	for _, c := range ends {
		if w, ok := c.(Named); ok {
			s.told = append(s.told, w)
		}
	}
	return s, nil
}

// give takes back a set that has not failed.
func (p *communicatorPool) give(s *communicatorSet) {
	p.mu.Lock()
	if s.made == p.made {
		p.idle = append(p.idle, s)
		s = nil
	}
	p.mu.Unlock()
	s.close()
}

// drop closes a set that has failed, even if it has been given back meanwhile.
func (p *communicatorPool) drop(s *communicatorSet) {
	p.mu.Lock()
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	s.close()
}

// clear closes all idle sets. Sets in use are closed when they come back.
func (p *communicatorPool) clear() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.made++
	p.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
}

func (s *communicatorSet) close() {
	if s == nil {
		return
	}
	for _, c := range s.ends {
		c.Close()
	}
}
