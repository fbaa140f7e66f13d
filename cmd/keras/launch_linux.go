package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a worker and what it starts into a group of processes, which ends with this process.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// signalGroup sends a signal to a worker and what it started.
func signalGroup(c *exec.Cmd, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-c.Process.Pid, number) // it may have ended already
	}
}
