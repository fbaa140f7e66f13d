//go:build unix

package supervisor

import "syscall"

// reporter is a worker's end of the pipe; nil: there is none.
type reporter struct{ descriptor int }

// newReporter takes a descriptor if it is a pipe. What this process starts does not inherit it.
func newReporter(descriptor int) *reporter {
	var info syscall.Stat_t
	if descriptor < 3 || syscall.Fstat(descriptor, &info) != nil || info.Mode&syscall.S_IFMT != syscall.S_IFIFO || syscall.SetNonblock(descriptor, true) != nil {
		return nil
	}
	syscall.CloseOnExec(descriptor)
	return &reporter{descriptor}
}

// say writes a line. If the pipe is full or nobody reads it, the line is dropped: it will be said again.
func (r *reporter) say(line string) {
	if r != nil {
		_, _ = syscall.Write(r.descriptor, []byte(line+"\n")) // see above
	}
}
