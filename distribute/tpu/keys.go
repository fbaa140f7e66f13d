package tpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// keys is a key-value store that all hosts of a group share. In rounds they tell each other what they have put. All
// take part in the rounds until all are connected, so a lost host ends every wait with the group's error.
type keys struct {
	mu      sync.Mutex
	values  map[string][]byte
	fresh   []entry       // put here, and not told yet
	changed chan struct{} // closed and replaced when values or err change
	awake   chan struct{} // tells rounds that there is something to tell
	err     error         // why nothing comes any more
}

type entry struct {
	key   string
	value []byte
}

func newKeys() *keys {
	return &keys{values: map[string][]byte{}, changed: make(chan struct{}), awake: make(chan struct{}, 1)}
}

// errParted ends waits when the hosts have connected.
var errParted = errors.New("tpu: the hosts have connected, and tell each other no more keys")

// lateError says that a key did not arrive in time.
type lateError struct{ error }

func (lateError) Timeout() bool { return true }

// Get implements [kernels.KeyStore].
func (k *keys) Get(key string, timeout time.Duration) ([]byte, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		k.mu.Lock()
		value, ok := k.values[key]
		changed, err := k.changed, k.err
		k.mu.Unlock()
		switch {
		case ok:
			return value, nil
		case err != nil:
			return nil, fmt.Errorf("tpu: waiting for the key %q of another host: %w", key, err)
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil, lateError{fmt.Errorf("tpu: no host has put the key %q within %v", key, timeout)}
		}
	}
}

// TryGet implements [kernels.KeyStore].
func (k *keys) TryGet(key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if value, ok := k.values[key]; ok {
		return value, nil
	}
	return nil, fmt.Errorf("tpu: key %q: %w", key, kernels.ErrNoKey)
}

// Put implements [kernels.KeyStore].
func (k *keys) Put(key string, value []byte) error {
	k.mu.Lock()
	if k.err != nil {
		defer k.mu.Unlock()
		return k.err
	}
	k.fresh = append(k.fresh, entry{key, value})
	k.set(key, value)
	k.mu.Unlock()
	k.wake()
	return nil
}

// set stores a value. The caller holds mu.
func (k *keys) set(key string, value []byte) {
	k.values[key] = value
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *keys) wake() {
	select {
	case k.awake <- struct{}{}:
	default:
	}
}

// end ends all waits.
func (k *keys) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
		close(k.changed)
		k.changed = make(chan struct{})
	}
}

// pace is the longest pause between two rounds.
const pace = 10 * time.Millisecond

// serve makes rounds until all hosts have connected, or one has failed. connected is closed when this host has
// connected or failed, with its error in failed. behind are the ranks of hosts that have not connected.
func (k *keys) serve(ctx context.Context, g distribute.WorkerGroup, connected <-chan struct{}, failed *error) (behind []int, err error) {
	defer func() {
		if err != nil {
			k.end(err)
		} else {
			k.end(errParted)
		}
	}()
	ready := false
	pause := time.Millisecond
	for {
		own := round{done: ready}
		if ready && *failed != nil {
			own.failure = (*failed).Error()
		}
		k.mu.Lock()
		own.entries, k.fresh = k.fresh, nil
		k.mu.Unlock()
		blocks, err := g.AllGather(ctx, distribute.WorkerCall{Name: "connecting the hosts of a TPU"}, own.encode())
		if err != nil {
			return behind, err
		}
		quiet := true
		behind = nil
		for rank, block := range blocks {
			r, err := decodeRound(block)
			if err != nil {
				return nil, fmt.Errorf("tpu: host %d: %w", rank, err)
			}
			if r.failure != "" {
				if rank == g.Rank() {
					return nil, *failed
				}
				return nil, fmt.Errorf("host %d could not open its devices: %s", rank, r.failure)
			}
			if quiet = quiet && len(r.entries) == 0; !r.done {
				behind = append(behind, rank)
			}
			if rank != g.Rank() {
				k.take(r.entries)
			}
		}
		if len(behind) == 0 {
			return nil, nil
		}
		if pause = min(2*pause, pace); !quiet {
			pause = time.Millisecond
		}
		watch := connected
		if ready {
			watch = nil
		}
		select {
		case <-watch:
			ready = true
		case <-k.awake:
		case <-time.After(pause):
		}
	}
}

func (k *keys) take(entries []entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range entries {
		k.set(e.key, e.value)
	}
}

// round is what a host tells the others in a round.
type round struct {
	done    bool
	failure string // why it could not connect; "": nothing is wrong
	entries []entry
}

func (r *round) encode() []byte {
	b := []byte{0}
	if r.done {
		b[0] = 1
	}
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	text(r.failure)
	for _, e := range r.entries {
		text(e.key)
		text(string(e.value))
	}
	return b
}

func decodeRound(b []byte) (*round, error) {
	if len(b) == 0 || b[0] > 1 {
		return nil, errors.New("a round of keys does not begin with 0 or 1")
	}
	r := &round{done: b[0] == 1}
	b = b[1:]
	text := func() (string, error) {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return "", fmt.Errorf("a round of keys ends within a text (%d bytes are left)", len(b))
		}
		s := string(b[n : n+int(length)])
		b = b[n+int(length):]
		return s, nil
	}
	var err error
	if r.failure, err = text(); err != nil {
		return nil, err
	}
	for len(b) > 0 {
		key, err := text()
		if err != nil {
			return nil, err
		}
		value, err := text()
		if err != nil {
			return nil, err
		}
		r.entries = append(r.entries, entry{key, []byte(value)})
	}
	return r, nil
}
