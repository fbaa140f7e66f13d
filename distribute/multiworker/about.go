package multiworker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
)

// aboutWorkers is what workers have told about themselves: their devices, and where their strategies were made.
type aboutWorkers struct {
	mu   sync.Mutex
	told map[cluster.Task]string
}

// maxAbout bounds what a worker tells.
const maxAbout = 500

// Introduce tells all workers about this one, so that an error says what is known about one that is gone.
func (w *group) Introduce(ctx context.Context, about string) error {
	all, err := w.AllGather(ctx, distribute.WorkerCall{Name: "introductions"}, []byte(about[:min(len(about), maxAbout)]))
	if err != nil {
		return err
	}
	w.about.mu.Lock()
	defer w.about.mu.Unlock()
	w.about.told = map[cluster.Task]string{}
	for rank, m := range w.g.View().Members {
		if rank < len(all) {
			w.about.told[m.Task] = strings.ToValidUTF8(string(all[rank]), "?")
		}
	}
	return nil
}

// complete adds to an error what is known about the workers that are gone.
func (a *aboutWorkers) complete(err error) error {
	if err == nil {
		return nil
	}
	var member *collective.MemberError // on the heap
	if !errors.As(err, &member) {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var known []string
	for _, l := range member.Lost {
		if about := a.told[l.Task]; about != "" {
			known = append(known, fmt.Sprintf("%v runs %s", l.Task, about))
		}
	}
	if known == nil || strings.Contains(err.Error(), known[0]) {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(known, ", "))
}
