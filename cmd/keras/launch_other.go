//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: groups of processes differ between systems.
func ownGroup(*exec.Cmd) {}

// signalGroup sends a signal to a worker.
func signalGroup(c *exec.Cmd, s os.Signal) { _ = c.Process.Signal(s) } // it may have ended already
