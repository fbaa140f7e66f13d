package parameterserver

import (
	"errors"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// fewSockets is a listener that has none for some calls.
type fewSockets struct {
	net.Listener
	errs []error
}

func (f *fewSockets) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

// TestScarceSockets: what a process says that has no socket left, once for each time that it is so.
func TestScarceSockets(t *testing.T) {
	var said []string
	s := &settings{task: cluster.Task{Type: "ps"}, Options: Options{Observe: func(text string) { said = append(said, text) }}}
	none := &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	other := errors.New("another error")
	l := &patient{Listener: &fewSockets{errs: []error{none, none, nil, none, other}}, s: s}
	for _, want := range []error{none, none, nil, none, other} {
		_, err := l.Accept()
		require.Equal(t, want, err, "gRPC asks it whether it is temporary")
	}
	const limit = "too many open files; raise the limit of open files (ulimit -n)"
	require.Equal(t, []string{"ps:0 cannot take connections: accept tcp: accept4: " + limit, "ps:0 cannot take connections: accept tcp: accept4: " + limit}, said)

	said = nil
	to := cluster.Member{Task: cluster.Task{Type: "ps", Index: 3}, Address: "host:1"}
	s.task = cluster.Task{Type: "worker", Index: 2}
	require.NoError(t, s.noteDial(to, nil))
	require.Equal(t, other, s.noteDial(to, other))
	none.Op, none.Err = "dial", os.NewSyscallError("socket", syscall.EMFILE)
	var err error
	for range 2 {
		err = s.noteDial(to, none)
		require.ErrorIs(t, err, syscall.EMFILE)
	}
	const text = "worker:2 cannot open a connection to ps:3 at host:1: dial tcp: socket: " + limit
	require.Equal(t, []string{text}, said)
	require.EqualError(t, &ServerError{Task: "ps:3", Silent: 1234 * time.Millisecond, scarce: err}, "parameterserver: for 1.234s "+text)
	require.NoError(t, s.noteDial(to, nil))
	require.Error(t, s.noteDial(to, none))
	require.Len(t, said, 2)
}

// TestScarceMemory: a table for which a server has no memory is refused, with the limit, and the server goes on.
func TestScarceMemory(t *testing.T) {
	s := &Server{settings: &settings{task: cluster.Task{Type: "ps", Index: 1}}, state: protocol.NewState(protocol.Limits{})}
	change := func(c protocol.Command) error {
		var w protocol.Writer
		_, err := s.change(&w, nil, c)
		return err
	}
	table := func(name string, rows int) error {
		return change(&protocol.Create{Term: 1, Definition: protocol.Definition{Name: name, Rows: rows, Width: 1 << 10, Rule: protocol.Rule{Kind: protocol.SGD}}})
	}
	require.NoError(t, change(&protocol.Take{Term: 1}))
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(used.Sys) + 256<<20))
	err := table("big", 1<<18)
	require.ErrorContains(t, err, "parameterserver: table big on ps:1 takes 1.07e+09 bytes of memory")
	require.ErrorContains(t, err, "GOMEMLIMIT")
	require.ErrorContains(t, err, "or more parameter servers")
	require.Empty(t, s.state.Tables())
	require.NoError(t, table("small", 4))
	require.NoError(t, table("small", 4), "again")
}
