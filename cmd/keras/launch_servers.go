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

// A job with parameter servers ends in order. The coordinator and the workers are signalled first, so that current
// steps end and the coordinator can tell the servers. Servers that were signalled together with the others would leave
// these waiting for answers.

// signalOthers passes a signal on to all but the servers.
func (l *launcher) signalOthers(s os.Signal) {
	for i, c := range l.running {
		if c != nil && l.tasks[i].Type != cluster.ParameterServer {
			signalGroup(c, s)
		}
	}
}

// signalServers sends servers the signal that was held back.
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

// onlyServers reports whether only servers are left.
func (l *launcher) onlyServers() bool {
	for i, c := range l.running {
		if c != nil && l.tasks[i].Type != cluster.ParameterServer {
			return false
		}
	}
	return true
}

// A coordinator whose program returns an error tells the servers that the job is over. Restarting it would then be
// useless, because it would wait for servers that have ended. A coordinator that was killed before that, or that exits
// at once, has told them nothing.

// overPatience is how long servers that were told to end need for it, on a busy machine.
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

// coordinatorEnded ends the job if the coordinator told the servers to end before it failed. If it may have done so, it
// waits briefly for a sign of that.
func (l *launcher) coordinatorEnded(w *waiting, e ended) {
	w.decided, w.undecided = time.After(overPatience), &e
	var exit *exec.ExitError
	if l.served || l.toldOver() && errors.As(e.err, &exit) && exit.Exited() {
		l.jobOver(w)
	}
}

// serverDone notes that a server has ended well, which is that sign.
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

// noteEnd chooses the file that tells workers that the job has ended.
func (l *launcher) noteEnd() error {
	folder, err := os.MkdirTemp("", "keras-job-")
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	l.over = filepath.Join(folder, "over")
	return nil
}

// jobDone notes that the coordinator has ended well. Otherwise a worker that failed just before and was restarted would
// wait for servers that have ended too.
func (l *launcher) jobDone(e ended) {
	if l.over == "" || l.tasks[e.worker].Type != cluster.Chief {
		return
	}
	l.done = true
	if err := os.WriteFile(l.over, nil, 0o600); err != nil {
		fmt.Fprintf(l.err.prefixed("[launch] "), "the end of the job cannot be told to workers: %v\n", err)
	}
}
