package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/gokeras/gokeras/internal/supervisor"
)

// A frozen worker does not end, and in a job with a fixed number of workers the others would wait for it. They tell the
// launcher which worker they miss, and the launcher ends it, so that it is restarted like any worker that fails.

// report is a message from one run of a worker.
type report struct {
	worker, start int
	supervisor.Event
}

// settled is how long a worker must have been looking for the others before it can be reported missing: at first they
// may not have heard from it yet.
const settled = 2 * time.Second

// lastWords is how long the launcher listens to a worker that has ended.
const lastWords = 100 * time.Millisecond

// connect gives a worker, before it is started, a pipe to the launcher. Call listen after the start, with whether the
// worker runs, and the returned end when the worker has ended.
func (l *launcher) connect(c *exec.Cmd, who report) (listen func(runs bool) (end func()), err error) {
	if !passesFiles {
		return func(bool) func() { return func() {} }, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch: worker %d: %w", who.worker, err)
	}
	c.ExtraFiles = append(c.ExtraFiles, write)
	c.Env = append(c.Env, supervisor.Variable+"="+strconv.Itoa(2+len(c.ExtraFiles)))
	return func(runs bool) func() {
		_ = write.Close() // the worker has its own
		if !runs {
			_ = read.Close()
			return nil
		}
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			supervisor.Listen(read, func(e supervisor.Event) {
				who.Event = e
				l.told <- who
			})
		}()
		return func() {
			_ = read.SetReadDeadline(time.Now().Add(lastWords)) // what the worker started may hold the other end
			<-heard
			_ = read.Close()
		}
	}, nil
}

// hear acts on a report of a worker.
func (l *launcher) hear(r report) {
	if l.running[r.worker] == nil || l.starts[r.worker] != r.start || l.ending {
		return // it is of an earlier life, or does not matter any more
	}
	if r.Refused {
		l.refused[r.worker] = true
	}
	if r.Joining {
		l.joined[r.worker] = time.Now()
	}
	for _, i := range r.Missing {
		if i >= l.workers || i == r.worker || l.running[i] == nil || l.silent[i] {
			continue
		}
		// A worker that does not look for the others yet may be slow to start. If it is stopped, it never will.
		if came := l.joined[i]; (came.IsZero() || time.Since(came) < settled) && !isStopped(l.running[i].Process.Pid) {
			continue
		}
		text := l.err.prefixed("[launch] ")
		if l.starts[i] > l.restarts {
			l.silent[i] = true
			fmt.Fprintf(text, "worker %d does not answer, as worker %d says, and no restart is left for it; the others go on without it, or wait\n", i, r.worker)
			continue
		}
		fmt.Fprintf(text, "worker %d does not answer, as worker %d says; ending it\n", i, r.worker)
		signalGroup(l.running[i], syscall.SIGKILL)
	}
}

// onlySilent reports whether all remaining workers are silent, so that no other worker waits for them.
func (l *launcher) onlySilent() bool {
	for i, c := range l.running {
		if c != nil && !l.silent[i] {
			return false
		}
	}
	return true
}
