package parameterserver

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// savingVariable holds the directory of the process that TestKilledAtEachCall kills.
const savingVariable = "PARAMETERSERVER_TEST_SAVING"

const (
	savedCommands = 8
	savedBetween  = 3 // commands between snapshots
)

// savedCommand is the command with this number: the first ones make a table, the others change it.
func savedCommand(i int) protocol.Command {
	switch i {
	case 0:
		return &protocol.Take{Term: 1}
	case 1:
		return &protocol.Create{Term: 1, Definition: protocol.Definition{Name: "t", Rows: 2, Width: 3, Rule: protocol.Rule{Kind: protocol.SGD, Momentum: 0.9}}}
	}
	values := []float32{1, 2, 3, 4, 5, float32(i)}
	return &protocol.Push{Closure: protocol.ClosureID{Term: 1, Sequence: uint64(i)}, Low: uint64(i), Updates: []protocol.Update{{Values: values}}}
}

// afterCommands is the state after the first commands, encoded.
func afterCommands(t *testing.T, n int) []byte {
	t.Helper()
	state := protocol.NewState(protocol.Limits{})
	for i := range n {
		_, err := state.Execute(savedCommand(i))
		require.NoError(t, err)
	}
	return encodedState(t, state)
}

func encodedState(t *testing.T, state *protocol.State) []byte {
	t.Helper()
	var b bytes.Buffer
	w := protocol.NewWriter(&b)
	state.EncodeSnapshot(w)
	require.NoError(t, w.Flush())
	return b.Bytes()
}

// save appends the commands from one on, with snapshots between them, and tells of each when it is in the log.
func save(s *store, state *protocol.State, identity uint64, from int, tell func(i int)) error {
	for i := from; i < savedCommands; i++ {
		var w protocol.Writer
		protocol.EncodeCommand(&w, savedCommand(i))
		if err := s.append(w.B); err != nil {
			return err
		}
		if _, err := state.Execute(savedCommand(i)); err != nil {
			return err
		}
		tell(i)
		if i%savedBetween == savedBetween-1 {
			if err := s.snapshot(state, identity); err != nil {
				return err
			}
		}
	}
	return s.close()
}

// TestSavingCommands is the process that TestKilledAtEachCall kills.
func TestSavingCommands(t *testing.T) {
	dir := os.Getenv(savingVariable)
	if dir == "" {
		t.Skip("a part of TestKilledAtEachCall")
	}
	runtime.LockOSThread()
	fmt.Println("begun")
	s, state, identity, err := openStore(dir, true, protocol.Limits{})
	require.NoError(t, err)
	require.NoError(t, save(s, state, identity, 0, func(int) { fmt.Println("saved") }))
}

// TestKilledAtEachCall kills a process before each system call with which it writes its log and its snapshots: the
// next one has what was acknowledged, and at most the command that was under way, goes on from there, and leaves no
// files behind. Before an old snapshot is removed, the name of the new one is on the disk.
func TestKilledAtEachCall(t *testing.T) {
	if os.Getenv(savingVariable) != "" {
		t.Skip("this is the process that is killed")
	}
	want := make([][]byte, savedCommands+1)
	for i := range want {
		want[i] = afterCommands(t, i)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	n := 1
	for ended := false; !ended; n += step {
		dir := filepath.Join(t.TempDir(), "ps-0")
		var told string
		var calls []string
		told, calls, ended = killedAt(t, dir, n)
		acknowledged := strings.Count(told, "saved")
		require.True(t, !ended || acknowledged == savedCommands, told)
		if ended {
			requireSynced(t, calls)
		}
		s, state, identity, err := openStore(dir, true, protocol.Limits{})
		require.NoError(t, err, "killed before %v", calls[len(calls)-1])
		has := slices.IndexFunc(want, func(w []byte) bool { return bytes.Equal(w, encodedState(t, state)) })
		require.True(t, has == acknowledged || has == acknowledged+1, "call %d, killed before %v: %d commands were acknowledged, %d are there", n, calls[len(calls)-1], acknowledged, has)
		require.NoError(t, save(s, state, identity, has, func(int) {}))
		s, state, again, err := openStore(dir, true, protocol.Limits{})
		require.NoError(t, err)
		require.Equal(t, identity, again)
		require.Equal(t, want[savedCommands], encodedState(t, state))
		require.NoError(t, s.close())
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Len(t, names, 2, "a snapshot and a log: %q", names)
	}
	require.Greater(t, n, 50, "there were too few calls to kill at")
}

// requireSynced checks that names of files are on the disk before older files are removed.
func requireSynced(t *testing.T, calls []string) {
	t.Helper()
	synced := true
	for i, call := range calls {
		switch call {
		case "renameat":
			synced = false
		case "fsync":
			synced = true
		case "unlinkat":
			require.True(t, synced, "call %d of %v", i, calls)
		}
	}
	require.Contains(t, calls, "renameat")
}

// fileCalls are the system calls at which the process is killed.
var fileCalls = map[uint64]string{unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_FSYNC: "fsync", unix.SYS_CLOSE: "close",
	unix.SYS_RENAMEAT: "renameat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat", unix.SYS_FTRUNCATE: "ftruncate"}

// killedAt runs TestSavingCommands and kills it before its n-th such call after its first line. It returns what it
// said, and the calls.
func killedAt(t *testing.T, dir string, n int) (told string, calls []string, ended bool) {
	t.Helper()
	runtime.LockOSThread() // one thread traces a process
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	pid, err := syscall.ForkExec(os.Args[0], []string{os.Args[0], "-test.run=^TestSavingCommands$", "-test.count=1"}, &syscall.ProcAttr{
		Env: append(os.Environ(), savingVariable+"="+dir, "GOMAXPROCS=1", "GOGC=off"), Files: []uintptr{0, w.Fd(), 2}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Skipf("processes cannot be traced: %v", err)
	}
	require.NoError(t, w.Close())
	began, inside := false, map[int]bool{}
	for first := true; ; first = false {
		var status unix.WaitStatus
		thread, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		require.NoError(t, err)
		if status.Exited() || status.Signaled() {
			if thread != pid {
				continue
			}
			ended = status.Exited()
			break
		}
		if first {
			require.NoError(t, unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL))
		}
		signal := 0
		switch s := status.StopSignal(); {
		case s == unix.SIGTRAP|0x80:
			if inside[thread] = !inside[thread]; inside[thread] {
				var registers unix.PtraceRegs
				require.NoError(t, unix.PtraceGetRegs(thread, &registers))
				call := fileCalls[registers.Orig_rax]
				if began && call != "" {
					calls = append(calls, call)
				}
				began = began || call == "write" && registers.Rdi == 1
				if len(calls) == n {
					require.NoError(t, unix.Kill(pid, unix.SIGKILL))
				}
			}
		case s != unix.SIGTRAP && s != unix.SIGSTOP:
			signal = int(s)
		}
		_ = unix.PtraceSyscall(thread, signal) // it may have been killed
	}
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(text), calls, ended
}
