package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// A job with parameter servers ends in order: the coordinator and the workers are told first, so that steps under way
// end and the coordinator can tell the servers, which keep nobody waiting then. Servers that were told together with
// the others would leave these waiting for answers.

// signalOthers passes a signal on to all but the servers.
func (l *launcher) signalOthers(s os.Signal) {
	for i, c := range l.running {
		if c != nil && l.tasks[i].Type != cluster.ParameterServer {
			signalGroup(c, s)
		}
	}
}

// signalServers gives servers the signal that they are owed.
func (l *launcher) signalServers() {
	if l.owed == nil {
		return
	}
	for i, c := range l.running {
		if c != nil && l.tasks[i].Type == cluster.ParameterServer {
			signalGroup(c, l.owed)
		}
	}
	l.owed = nil
}

// onlyServers reports whether nobody else is left.
func (l *launcher) onlyServers() bool {
	for i, c := range l.running {
		if c != nil && l.tasks[i].Type != cluster.ParameterServer {
			return false
		}
	}
	return true
}

// A coordinator whose program returns an error tells the servers that the job is over. Then there is nothing that it
// could be started again for: it would wait for them. One that was killed before, or that exits at once, has told them
// nothing.

// overPatience is how long servers take to end that were told to, on a busy machine.
const overPatience = time.Second

// toldOver reports whether the coordinator has said that it ends the job.
func (l *launcher) toldOver() bool {
	_, err := os.Stat(l.over)
	return l.over != "" && err == nil
}

// mayBeOver reports whether a process is a coordinator that may have ended the job.
func (l *launcher) mayBeOver(e ended) bool {
	var exit *exec.ExitError
	servers := slices.ContainsFunc(l.tasks, func(t cluster.Task) bool { return t.Type == cluster.ParameterServer })
	return servers && l.tasks[e.worker].Type == cluster.Chief && (l.served || l.toldOver() || errors.As(e.err, &exit) && exit.Exited())
}

// coordinatorEnded ends the job where the coordinator has told the servers to end before it failed, and waits a moment
// for the sign of it where it may have.
func (l *launcher) coordinatorEnded(w *waiting, e ended) {
	w.decided, w.undecided = time.After(overPatience), &e
	var exit *exec.ExitError
	if l.served || l.toldOver() && errors.As(e.err, &exit) && exit.Exited() {
		l.jobOver(w)
	}
}

// serverDone notes that a server has ended well, which is the sign.
func (l *launcher) serverDone(w *waiting, e ended) {
	if l.tasks[e.worker].Type == cluster.ParameterServer {
		l.served = true
		l.jobOver(w)
	}
}

// jobOver ends the others if the coordinator has failed.
func (l *launcher) jobOver(w *waiting) {
	if w.undecided == nil {
		return
	}
	w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w; it has ended the job", l.name(w.undecided.worker), w.undecided.err))
	w.decided, w.undecided = nil, nil
	l.stop(w, syscall.SIGTERM)
}

// noteEnd chooses the file that tells workers of the end.
func (l *launcher) noteEnd() error {
	folder, err := os.MkdirTemp("", "keras-job-")
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	l.over = filepath.Join(folder, "over")
	return nil
}

// jobDone notes that the coordinator has ended well: a worker that failed just before and was started again would wait
// for servers that have ended too.
func (l *launcher) jobDone(e ended) {
	if l.over == "" || l.tasks[e.worker].Type != cluster.Chief {
		return
	}
	l.done = true
	if err := os.WriteFile(l.over, nil, 0o600); err != nil {
		fmt.Fprintf(l.err.prefixed("[launch] "), "the end of the job cannot be told to workers: %v\n", err)
	}
}
