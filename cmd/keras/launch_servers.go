package main

import (
	"os"

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
