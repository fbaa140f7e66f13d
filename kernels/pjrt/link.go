//go:build linux

package pjrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// acrossHosts determines the placement of the replicas of all processes: each tells the others the numbers of its
// devices.
func (b *Backend) acrossHosts(ctx context.Context, o kernels.CommunicatorOptions, own *placement) (*placement, error) {
	ids, err := b.idsAcrossHosts(ctx, o, own.ids)
	if err != nil {
		return nil, err
	}
	return &placement{devices: own.devices, ids: ids, key: fmt.Sprint(ids)}, nil
}

// idsAcrossHosts returns the numbers of the devices of the replicas of all processes, from those of this one.
func (b *Backend) idsAcrossHosts(ctx context.Context, o kernels.CommunicatorOptions, own []int) (all []int, err error) {
	if b.hosts == nil || o.Exchange == nil {
		return nil, fmt.Errorf("pjrt: connecting %d replicas of this process with %d in all, whose hosts were not joined (tpu.InitializeSystem does it): %w", len(o.Devices), o.Total(), errors.ErrUnsupported)
	}
	var text []byte
	for _, id := range own {
		text = binary.AppendUvarint(text, uint64(id))
	}
	blocks, err := o.Exchange(ctx, text)
	if err != nil {
		return nil, err
	}
	known := make([]int, len(b.client.All))
	for i, device := range b.client.All {
		info, err := b.client.Describe(device)
		if err != nil {
			return nil, err
		}
		known[i] = info.ID
	}
	for rank, block := range blocks {
		for len(block) > 0 {
			id, n := binary.Uvarint(block)
			if n <= 0 || !slices.Contains(known, int(id)) {
				return nil, fmt.Errorf("pjrt: process %d has device %d, which is none of the %d that the plugin here knows: %v", rank, id, len(known), known)
			}
			if slices.Contains(all, int(id)) {
				return nil, fmt.Errorf("pjrt: process %d has device %d, which another replica has too", rank, id)
			}
			all, block = append(all, int(id)), block[n:]
		}
	}
	each := len(own) / len(o.Devices) // devices of a replica
	first := o.First * each
	if len(all) != o.Total()*each || first+len(own) > len(all) || !slices.Equal(all[first:first+len(own)], own) {
		return nil, fmt.Errorf("pjrt: the processes have the devices %v; expected %d, with %v from number %d on", all, o.Total()*each, own, first)
	}
	return all, nil
}

// link is the connection of a group to the replicas of other processes, which may stop at any time. A call of the
// plugin that waits for them then never returns. It is given up when the processes have found out who is gone.
type link struct {
	broken func(err error) error
	over   chan struct{} // closed when the processes have parted
	once   sync.Once
	err    error       // why
	gaveUp atomic.Bool // a call that has not returned
}

func newLink(o kernels.CommunicatorOptions) *link {
	return &link{broken: o.Broken, over: make(chan struct{})}
}

// end tells those who wait that the others will not come.
func (l *link) end(err error) {
	if l == nil {
		return
	}
	l.once.Do(func() {
		l.err = err
		close(l.over)
	})
}

// lastWords is how long a call may take to return after the processes have parted: calls that do not need the others
// do.
const lastWords = time.Second

// givenUp is the error of a call that has not returned: the memory that it uses must stay.
type givenUp struct{ error }

func (e givenUp) Unwrap() error { return e.error }

func isGivenUp(err error) bool { return err != nil && errors.As(err, new(givenUp)) }

// await makes a call of the plugin, and gives it up if the others do not come. The call must own what it uses.
func (l *link) await(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return l.explain(err)
	case <-ctx.Done():
		return givenUp{context.Cause(ctx)}
	case <-l.over:
	}
	if !l.gaveUp.Load() {
		grace := time.NewTimer(lastWords)
		defer grace.Stop()
		select {
		case err := <-done:
			return l.explain(err)
		case <-grace.C:
		}
		l.gaveUp.Store(true)
	}
	return givenUp{l.err}
}

// run is await for a run; without other processes there is nothing to give up.
func (l *link) run(launch *capi.Launch, keep []int) error {
	if l == nil {
		return launch.Run(keep)
	}
	select {
	case <-l.over: // the call would never return
		return l.err
	default:
	}
	return l.await(context.Background(), func() error { return launch.Run(keep) })
}

// explain asks why the connection to other processes broke, if err may mean that it did.
func (l *link) explain(err error) error {
	var e *capi.Error
	if err == nil || !errors.As(err, &e) || l.broken == nil {
		return err
	}
	switch e.Code {
	case capi.Cancelled, capi.DeadlineExceeded, capi.Aborted, capi.Internal, capi.Unavailable:
		return l.broken(err)
	}
	return err
}
