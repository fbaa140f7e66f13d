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

// A worker that is frozen does not end, and the others of a job with a fixed number of workers would wait for it. They
// tell the launcher whom they miss, and the launcher ends that one, so that it is started again like any that fails.

// report is what a worker has said in one of its lives.
type report struct {
	worker, start int
	supervisor.Event
}

// settled is how long ago a worker must have begun to look for the others to be missed: at first they may not have
// heard it yet.
const settled = 2 * time.Second

// lastWords is how long a worker that has ended is still listened to.
const lastWords = 100 * time.Millisecond

// connect gives a worker, before it is started, a pipe to the launcher. listen is to be called after, and says whether
// it runs; what that returns is to be called when it has ended.
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

// hear acts on what a worker has said.
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
		// One that has not come to look for the others may be slow to begin. If it is stopped, it never will.
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

// onlySilent reports whether those that are left do not answer, so that nobody is there to wait for them.
func (l *launcher) onlySilent() bool {
	for i, c := range l.running {
		if c != nil && !l.silent[i] {
			return false
		}
	}
	return true
}
