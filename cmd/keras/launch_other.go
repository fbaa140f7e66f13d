//go:build !linux

package main

import (
	"os"
	"os/exec"
	"runtime"
)

// ownGroup does nothing: process groups differ between systems.
func ownGroup(*exec.Cmd) {}

// passesFiles says that a worker can inherit a pipe.
const passesFiles = runtime.GOOS != "windows"

// isStopped reports whether a process was stopped by a signal, which only Linux shows.
func isStopped(int) bool { return false }

// signalGroup sends a signal to a worker.
func signalGroup(c *exec.Cmd, s os.Signal) { _ = c.Process.Signal(s) } // it may have ended already
