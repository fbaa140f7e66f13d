package ports

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holder names the process that has a port of this machine, "process 12 (train) listens there", if the system tells.
// Linux does for processes of the same user.
func holder(address string) string {
	_, service, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, err := net.LookupPort("tcp", service)
	if err != nil {
		return ""
	}
	inode, listens := socketOf(port)
	if inode == "" {
		return ""
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well formed
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		pid := strings.Split(file, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm") // it may have ended
		if pid == strconv.Itoa(os.Getpid()) {
			pid = "this process, " + pid
		} else {
			pid = "process " + pid
		}
		what := "has a connection from it"
		if listens {
			what = "listens on it"
		}
		return fmt.Sprintf("%s (%s) %s", pid, strings.TrimSpace(string(name)), what)
	}
	return ""
}

// socketOf finds the socket with a local port, one that listens before others.
func socketOf(port int) (inode string, listens bool) {
	const local, state, number, listening = 1, 3, 9, "0A" // columns of the table, and a state
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) <= number || !strings.HasSuffix(f[local], suffix) || f[number] == "0" {
				continue
			}
			if f[state] == listening {
				return f[number], true
			}
			inode = f[number]
		}
	}
	return inode, false
}
