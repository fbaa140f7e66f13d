package parameterserver

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// pending is a scheduled closure.
type pending struct {
	of    *coordinator
	done  chan struct{}
	value []byte
	err   error
}

// Fetch waits for the result while there is a worker, or one may still come.
func (p *pending) Fetch(ctx context.Context) ([]byte, error) {
	select {
	case <-p.done:
		return p.value, p.err
	default:
	}
	patience := time.NewTimer(p.of.s.JoinTimeout)
	defer patience.Stop()
	for {
		select {
		case <-p.done:
			return p.value, p.err
		case <-p.of.broken:
			p.of.mu.Lock()
			defer p.of.mu.Unlock()
			return nil, p.of.fatal
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			left, err := p.of.patience()
			if err != nil {
				return nil, err
			}
			patience.Reset(left)
		}
	}
}

// patience returns how much longer it makes sense to wait for a worker, or an error if there was none for too long.
func (c *coordinator) patience() (time.Duration, error) {
	c.mu.Lock()
	workless := c.workless
	c.mu.Unlock()
	if workless.IsZero() {
		return c.s.JoinTimeout, nil
	}
	if left := c.s.JoinTimeout - time.Since(workless); left > 0 {
		return left, nil
	}
	return 0, c.deserted()
}

// deserted returns the error that there was no worker for too long.
func (c *coordinator) deserted() error {
	var list []string
	for _, m := range c.s.workers {
		list = append(list, fmt.Sprintf("%v at %s", m.Task, m.Address))
	}
	return fmt.Errorf("parameterserver: closures wait, and there was no worker for %v; start at least one of %s", c.s.JoinTimeout, strings.Join(list, ", "))
}

// deserts reports whether there is no worker at all: if there were others, they would do the work of one that cannot
// come.
func (c *coordinator) deserts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.workless.IsZero()
}

func (c *coordinator) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed(err)
	c.changed()
}

// failed is fail for callers that hold the lock.
func (c *coordinator) failed(err error) {
	if c.fatal == nil {
		c.fatal = err
		close(c.broken)
	}
}
