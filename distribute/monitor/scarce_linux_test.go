package monitor_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/distribute/monitor"
)

const scarceVariable = "GOKERAS_TEST_SCARCE"

// TestFewDescriptors: a server whose process has no file descriptor left answers over the connections that it has, logs
// which limit to raise, and takes the connections that waited once it is raised.
func TestFewDescriptors(t *testing.T) {
	if os.Getenv(scarceVariable) != "" {
		s, err := monitor.New(monitor.Options{}).Serve("")
		fmt.Println(s.Address(), err)
		_, _ = io.ReadAll(os.Stdin) // until the test ends
		os.Exit(0)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFewDescriptors$")
	c.Env = append(os.Environ(), scarceVariable+"=1")
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, c.Wait())
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	address, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	require.Equal(t, "<nil>", rest)
	limit := func(n uint64) {
		t.Helper()
		require.NoError(t, unix.Prlimit(c.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 1 << 10}, nil))
	}
	ask := func(client *http.Client) error {
		r, err := client.Get("http://" + address + "/metrics")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if text, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(text), "gokeras_steps_total") {
			return fmt.Errorf("received %q, %w", text, err)
		}
		return nil
	}
	client := func() *http.Client { return &http.Client{Transport: &http.Transport{}, Timeout: time.Minute} }
	old := client()
	require.NoError(t, ask(old))
	limit(3)
	waiting := make(chan error, 1)
	go func() { waiting <- ask(client()) }()
	text, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, text, "too many open files; raise the limit of open files (ulimit -n); retrying in")
	go func() { _, _ = io.Copy(io.Discard, stderr) }() // it says so each second
	require.NoError(t, ask(old), "over the connection that there is")
	require.Empty(t, waiting)
	limit(1 << 10)
	require.NoError(t, <-waiting, "it waited")
	require.NoError(t, ask(client()))
}

// refuse is a listener that has no memory for a connection at first.
type refuse struct {
	net.Listener
	err error
}

func (r *refuse) Accept() (net.Conn, error) {
	if err := r.err; err != nil {
		r.err = nil
		return nil, err
	}
	return r.Listener.Accept()
}

// TestScarceIsTemporary: the server of net/http tries again after every error of this kind, and after no other.
func TestScarceIsTemporary(t *testing.T) {
	for _, n := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINVAL} {
		_, err := monitor.Patient(&refuse{err: os.NewSyscallError("accept4", n)}).Accept()
		require.ErrorIs(t, err, n)
		var temporary interface{ Temporary() bool } // which the server asks
		require.Equal(t, n != syscall.EINVAL, errors.As(err, &temporary) && temporary.Temporary(), n)
	}
}
