//go:build linux

package cuda

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// invitation is how a process lets the others open its window, as JSON.
type invitation struct {
	Handle  driver.SharedMemory
	Problem string // why there is none
}

// byWindows opens the windows of all processes to each other. If any process cannot, the link does without them in all
// processes, which learn why.
func (b *backend) byWindows(ctx context.Context, o kernels.CommunicatorOptions, l *link) (w *windows, refused, err error) {
	var own invitation
	w, err = newWindows(l.devices[0], l.first, l.ranks)
	if err == nil {
		own.Handle, err = w.handle()
	}
	all, failed := exchange(ctx, o, own, err)
	if failed == nil && refusal(all) == nil {
		handles := make([]driver.SharedMemory, len(all))
		for rank, i := range all {
			handles[rank] = i.Handle
		}
		err = w.open(handles)
		all, failed = exchange(ctx, o, invitation{}, err)
	}
	if refused = refusal(all); failed == nil && refused == nil {
		w.link = l
		return w, nil, nil
	}
	w.release()
	return nil, refused, failed
}

// exchange tells all processes what this one has, or what is wrong.
func exchange(ctx context.Context, o kernels.CommunicatorOptions, own invitation, err error) ([]invitation, error) {
	if err != nil {
		own.Problem = err.Error()
	}
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	texts, err := o.Exchange(ctx, data)
	all := make([]invitation, len(texts))
	for rank, text := range texts {
		if wrong := json.Unmarshal(text, &all[rank]); wrong != nil {
			return nil, fmt.Errorf("cuda: worker %d tells of its memory in a form that is not understood (%w); all workers need the same program", rank, wrong)
		}
	}
	return all, err
}

// refusal says why a process cannot take part; nil if all can.
func refusal(all []invitation) error {
	for rank, i := range all {
		if i.Problem != "" {
			return fmt.Errorf("cuda: worker %d cannot open memory to the others: %s", rank, i.Problem)
		}
	}
	return nil
}
