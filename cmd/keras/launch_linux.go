package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup puts a worker and the processes that it starts into a process group, which ends with this process.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// passesFiles says that a worker can inherit a pipe.
const passesFiles = true

// isStopped reports whether a process was stopped by a signal, as the system shows it.
func isStopped(id int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return false
	}
	_, state, found := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name before may hold anything
	return found && len(state) > 0 && (state[0] == 'T' || state[0] == 't')
}

// signalGroup sends a signal to a worker and the processes that it has started.
func signalGroup(c *exec.Cmd, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-c.Process.Pid, number) // it may have ended already
	}
}
