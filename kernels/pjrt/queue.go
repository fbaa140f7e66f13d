//go:build linux

package pjrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// queue chains launches on one device by the failure flag: each takes the flag of the launch before and passes on its
// own, so that launches after a failed one change nothing even before the host has noticed.
type queue struct {
	backend *Backend
	client  *capi.Client
	place   uintptr
	device  kernels.Device

	mu   sync.Mutex
	flag *object // of the last launch; nil stands for zeros
	err  error   // of the host: the plugin refused a launch, or its replicas did not meet
	told *told
	// meeting is the last launch that several replicas take part in; nil once it has been handed to the plugin.
	meeting *meeting
	under   []*object // flags of the launches in progress, the oldest first
	ring    []*launched
	next    int // place in the ring of the next launch's event

	data flagBytes // used by Wait, which one goroutine at a time calls
}

// ringSize is how many launches of a queue have events of their own. After that many later launches, an event becomes
// that of a later launch.
const ringSize = 256

// told are the modules that a queue has launched since its last Wait, needed to interpret the flag. Events hold it and
// not the queue, because the queue holds them, so that the garbage collector can find both.
type told struct {
	device  kernels.Device
	mu      sync.Mutex
	modules map[int32]*stablehlo.Module
}

// NewQueue opens a queue.
func (b *Backend) NewQueue(d kernels.Device) (kernels.Queue, error) {
	client, place, err := b.device(d)
	if err != nil {
		return nil, err
	}
	q := &queue{backend: b, client: client, place: place, device: d, told: &told{device: d, modules: map[int32]*stablehlo.Module{}}}
	b.dead.Watch(q)
	return q, nil
}

func (q *queue) Device() kernels.Device { return q.device }

// Inline is false, because the plugin runs the launches.
func (q *queue) Inline() bool { return false }

// take returns the flag of the last launch, for use by the caller, and the error that stops launches before they reach
// the device.
func (q *queue) take() (*object, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle()
	if q.err != nil {
		return nil, q.err
	}
	if q.flag == nil {
		handle, err := q.client.Upload(q.place, 0, capi.S32, stablehlo.FlagType.Shape, make([]byte, stablehlo.FlagType.Bytes()))
		if err != nil {
			return nil, fmt.Errorf("pjrt: %v: %w", q.device, err)
		}
		q.flag = newObject(q.client, handle)
	}
	return q.flag.share(), nil
}

// settle waits until a launch of several replicas has been handed to the plugin. The caller holds mu, which is released
// meanwhile for the goroutine that does that.
func (q *queue) settle() {
	for q.meeting != nil {
		m := q.meeting
		q.mu.Unlock()
		<-m.over
		q.mu.Lock()
		if q.meeting == m {
			q.meeting = nil
			if q.err == nil {
				q.err = m.err
			}
		}
	}
}

// put records the outcome of a launch, and waits if more launches than ahead would be in progress.
func (q *queue) put(m *stablehlo.Module, number int32, flag *object, ahead int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		if q.err == nil {
			q.err = err
		}
		return
	}
	q.told.add(number, m)
	q.flag.release()
	q.flag = flag.share()
	q.under = append(q.under, flag.share())
	if over := len(q.under) - ahead; over > 0 {
		_ = q.under[over-1].await() // the flag carries the failure from launch to launch
		q.forget(over)
	}
}

// forget removes the oldest launches from the list. The caller holds mu.
func (q *queue) forget(n int) {
	for _, flag := range q.under[:n] {
		flag.release()
	}
	q.under = slices.Delete(q.under, 0, n)
}

func (t *told) add(number int32, m *stablehlo.Module) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.modules[number] = m
}

func (t *told) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.modules)
}

// flagBytes is memory for a failure flag.
type flagBytes [12]byte

// failure waits for a launch and reads its flag into data.
func (t *told) failure(ctx context.Context, flag *object, data *flagBytes) error {
	if err := flag.read(ctx, data[:]); err != nil {
		return fmt.Errorf("pjrt: %v: %w", t.device, err)
	}
	var words [3]int32
	for i := range words {
		words[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	if words[1] == 0 {
		return nil
	}
	t.mu.Lock()
	m := t.modules[words[0]]
	t.mu.Unlock()
	if m == nil {
		return errors.New("pjrt: an earlier launch of this queue failed")
	}
	return m.Failure(words)
}

// Wait returns when all launches are over, with the first error since the last Wait.
func (q *queue) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	q.settle()
	err, flag := q.err, q.flag
	q.err, q.flag = nil, nil
	q.forget(len(q.under))
	q.mu.Unlock()
	if flag == nil {
		return err
	}
	failed := q.told.failure(ctx, flag, &q.data)
	q.mu.Lock()
	defer q.mu.Unlock()
	if failed == nil && q.flag == nil {
		q.flag = flag // still zeros: the next launch need not upload them
	} else {
		flag.release()
	}
	if failed != nil {
		q.told.clear()
	}
	if err == nil {
		err = failed
	}
	return err
}

// Close gives the queue back.
func (q *queue) Close() {
	unreachable.Forget(q)
	q.Discard()
}

// Discard is Close for a queue that nobody can reach. Its events may still be waited for.
func (q *queue) Discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle()
	q.forget(len(q.under))
	q.flag.release()
	q.flag = nil
	for _, e := range q.ring {
		e.mu.Lock()
		if e.flag != nil || e.meeting != nil {
			q.backend.dead.Watch(e)
		}
		e.mu.Unlock()
	}
	q.ring = nil
}

// event returns the event of the next launch.
func (q *queue) event() *launched {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ring) < ringSize {
		e := &launched{told: q.told}
		q.ring = append(q.ring, e)
		return e
	}
	e := q.ring[q.next]
	q.next = (q.next + 1) % ringSize
	e.Discard()
	return e
}
