package exec

import (
	"context"
	"sync"

	"github.com/gokeras/gokeras/kernels"
)

// Named is a communicator that tells the processes of the others what its calls belong to.
type Named interface{ SetCall(call WorkerCall) }

// communicatorSet connects the replicas of this process, with those of others where the strategy spans several.
type communicatorSet struct {
	ends []kernels.Communicator
	made int // generation of the pool
	told []Named
	met  map[WorkerCall]bool // calls that all processes have agreed about; see [communicatorSet.agree]
}

// agree makes sure that all processes are about to do the same, where their devices cannot tell and workers come and
// go, so that they do not agree when they trace; once for a program and a set, which all make anew at the same time.
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

// communicatorPool keeps the communicators of a strategy. A step takes a set and gives it back when all replicas have
// been launched; programs without collectives take none. So there are as many sets as steps run at the same time,
// whatever the number of programs. A set that was aborted is closed, never used again.
type communicatorPool struct {
	mu   sync.Mutex
	idle []*communicatorSet
	made int // counts up where the replicas change: sets made before serve no more
}

// take returns a set, made by connect where none is idle.
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

// give takes a set back that has not failed.
func (p *communicatorPool) give(s *communicatorSet) {
	p.mu.Lock()
	if s.made == p.made {
		p.idle = append(p.idle, s)
		s = nil
	}
	p.mu.Unlock()
	s.close()
}

// drop closes a set that has failed, also where it has been given back meanwhile.
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

// clear closes all idle sets; those that are out are closed when they come back.
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
