//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// machine runs a program and all threads and processes that it starts.
type machine struct {
	log     io.Writer
	threads map[int]*thread
	counts  map[string]int
	failed  bool
}

type thread struct {
	id    int
	tiles registers
}

const options = syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// run executes a program and returns its exit status.
func (m *machine) run(path string, arguments []string) (int, error) {
	runtime.LockOSThread() // a program is traced by a thread, not a process
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(path, append([]string{path}, arguments...), &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return 0, fmt.Errorf("trace %s: %w", path, err)
	}
	m.threads, m.counts = map[int]*thread{}, map[string]int{}
	first := true
	for {
		var status syscall.WaitStatus
		id, err := syscall.Wait4(-1, &status, syscall.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for %s: %w", path, err)
		case id == process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case id == process.Pid && status.Signaled():
			fmt.Fprintf(m.log, "amxemulator: %s ended with %v\n", path, status.Signal())
			return 128 + int(status.Signal()), nil
		case !status.Stopped():
			delete(m.threads, id)
			continue
		}
		if first {
			if err := syscall.PtraceSetOptions(id, options); err != nil {
				return 0, fmt.Errorf("trace %s: %w", path, err)
			}
			first = false
		}
		// A thread that was killed in the meantime is not an error.
		if err := syscall.PtraceCont(id, int(m.stopped(id, status))); err != nil && !errors.Is(err, syscall.ESRCH) {
			return 0, fmt.Errorf("continue thread %d of %s: %w", id, path, err)
		}
	}
}

// stopped handles a stopped thread and returns the signal to deliver to it.
func (m *machine) stopped(id int, status syscall.WaitStatus) syscall.Signal {
	t := m.threads[id]
	started := t == nil
	if started {
		t = &thread{id: id}
		m.threads[id] = t
	}
	switch signal := status.StopSignal(); {
	case signal == syscall.SIGTRAP && status.TrapCause() == syscall.PTRACE_EVENT_EXEC:
		t.tiles = registers{}
		return 0
	case signal == syscall.SIGTRAP && (started || status.TrapCause() > 0):
		return 0
	case signal == syscall.SIGSTOP && started:
		return 0
	case signal == syscall.SIGILL:
		return m.emulate(t)
	default:
		return signal
	}
}

// emulate executes the AMX instructions that the thread is about to run. It returns the signal to deliver, which is
// SIGILL if there were none.
func (m *machine) emulate(t *thread) syscall.Signal {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(t.id, &regs); err != nil {
		return syscall.SIGILL
	}
	signal := syscall.Signal(0)
	for done := 0; ; done++ {
		i, ok, err := decode(codeAt(t.id, regs.Rip))
		if !ok {
			if done == 0 {
				signal = syscall.SIGILL
			}
			break
		}
		if err == nil {
			address, stride := operand(i, &regs)
			err = t.tiles.execute(i, processMemory(t.id), address, stride)
		}
		if err != nil {
			fmt.Fprintf(m.log, "amxemulator: at %#x: %v\n", regs.Rip, err)
			m.failed = true
			signal = syscall.SIGSEGV
			if _, is := errors.AsType[undefined](err); is {
				signal = syscall.SIGILL
			}
			break
		}
		m.counts[i.name]++
		regs.Rip += uint64(i.length)
	}
	if err := syscall.PtraceSetRegs(t.id, &regs); err != nil {
		return syscall.SIGILL
	}
	return signal
}

// operand returns the address of an instruction's memory operand, and the index as the distance of rows.
func operand(i instruction, r *syscall.PtraceRegs) (address, stride uint64) {
	values := [16]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	address = uint64(i.displacement)
	switch {
	case i.base == ripBase:
		address += r.Rip + uint64(i.length)
	case i.base >= 0:
		address += values[i.base]
	}
	if i.index >= 0 {
		stride = values[i.index] << i.scale
	}
	if i.op < loadTile {
		address += stride
	}
	return address, stride
}

// codeAt returns up to 15 bytes of code, because the following bytes may not be mapped.
func codeAt(id int, address uint64) []byte {
	code := make([]byte, 15)
	for _, n := range []int{15, 4096 - int(address%4096)} {
		if n = min(n, 15); processMemory(id).read(address, code[:n]) == nil {
			return code[:n]
		}
	}
	return nil
}

// processMemory is the memory of the process that a thread belongs to.
type processMemory int

func (p processMemory) read(address uint64, data []byte) error {
	local, remote := vectors(address, data)
	return transferred(unix.ProcessVMReadv(int(p), local, remote, 0))(address, len(data))
}

func (p processMemory) write(address uint64, data []byte) error {
	local, remote := vectors(address, data)
	return transferred(unix.ProcessVMWritev(int(p), local, remote, 0))(address, len(data))
}

func vectors(address uint64, data []byte) ([]unix.Iovec, []unix.RemoteIovec) {
	return []unix.Iovec{{Base: &data[0], Len: uint64(len(data))}}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(data)}}
}

func transferred(n int, err error) func(address uint64, want int) error {
	return func(address uint64, want int) error {
		if err != nil || n != want {
			return violation(fmt.Sprintf("%d bytes at %#x cannot be reached (%v)", want, address, err))
		}
		return nil
	}
}
