package parameterserver

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
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
