package ports

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const pickerVariable = "GOKERAS_TEST_PICKER"

// TestMain is also a process that picks addresses, tells them and waits.
func TestMain(m *testing.M) {
	if os.Getenv(pickerVariable) != "" {
		for range 100 {
			addresses, err := Free(1)
			fmt.Print(strings.Join(addresses, ""), err, " ")
		}
		fmt.Println()
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the test ends
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestFree: addresses are free, consecutive, given once, and no outgoing connection takes their ports.
func TestFree(t *testing.T) {
	from, to := ephemeral()
	seen := map[string]bool{}
	for range 20 {
		addresses, err := Free(7)
		require.NoError(t, err)
		require.Len(t, addresses, 7)
		before := 0
		for _, address := range addresses {
			require.False(t, seen[address], address)
			seen[address] = true
			l, err := net.Listen("tcp", address)
			require.NoError(t, err)
			port := l.Addr().(*net.TCPAddr).Port
			require.False(t, to-from < 50_000 && from <= port && port <= to, "%d is between %d and %d", port, from, to)
			require.True(t, before == 0 || port == before+1)
			before = port
			require.NoError(t, l.Close())
		}
	}
	none, err := Free(0)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = Free(60_000)
	require.ErrorContains(t, err, "received 60000 ports to choose, expected at most")
}

// TestFreeForgets: a process that asks for ever holds so many sockets at most.
func TestFreeForgets(t *testing.T) {
	for range 70 {
		_, err := Free(30)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(claims.open), kept)
}

// TestProcesses: processes that pick at the same time, while nobody listens yet, pick different addresses: six times
// 100 random ports of 20,000 would not.
func TestProcesses(t *testing.T) {
	type picker struct {
		*exec.Cmd
		out *bufio.Reader
	}
	var all []picker
	for range 6 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), pickerVariable+"=1")
		in, err := c.StdinPipe()
		require.NoError(t, err)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		t.Cleanup(func() { _, _ = in.Close(), c.Wait() })
		all = append(all, picker{c, bufio.NewReader(out)})
	}
	seen := map[string]bool{}
	for _, p := range all {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err)
		words := strings.Fields(line)
		require.Len(t, words, 100, "%s", line)
		for _, address := range words {
			require.False(t, seen[address], address)
			seen[address] = true
		}
	}
}

// TestSpan: whatever range the system takes for itself.
func TestSpan(t *testing.T) {
	for _, c := range []struct{ from, to, n, least, most int }{
		{32768, 60999, 4, 10000, 29999}, // Linux
		{49152, 65535, 4, 10000, 29999}, // the standard
		{15000, 65000, 4, 10000, 14999},
		{10000, 65535, 4, 1024, 9999}, // FreeBSD
		{1024, 49151, 4, 49152, 65535},
		{1024, 25000, 4, 25001, 29999},
		{1024, 65535, 4, 10000, 29999}, // nothing is left
		{15000, 65000, 6000, 1024, 14999},
		{1024, 29500, 4, 29501, 65535},
	} {
		least, most := span(c.from, c.to, c.n)
		require.Equal(t, []int{c.least, c.most}, []int{least, most}, "%+v", c)
	}
}

// TestListenWaits: an address that its holder gives up is taken over.
func TestListenWaits(t *testing.T) {
	t.Parallel()
	addresses, err := Free(1)
	require.NoError(t, err)
	first, err := Listen(t.Context(), addresses[0], 0)
	require.NoError(t, err)
	time.AfterFunc(time.Second, func() { _ = first.Close() })
	began := time.Now()
	second, err := Listen(t.Context(), addresses[0], time.Minute)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 900*time.Millisecond)
	require.Equal(t, addresses[0], second.Addr().String())
	require.NoError(t, second.Close())
}

// TestListenGivesUp: one that is held is an error that says for how long, by whom and what to do; the context ends the
// wait too; other errors come at once.
func TestListenGivesUp(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer held.Close()
	address := held.Addr().String()
	_, err = Listen(t.Context(), address, 100*time.Millisecond)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.Regexp(t, `address already in use, for \d+ms so far; .* end that, or give this task another port`, err.Error())
	who := "this process, " + strconv.Itoa(os.Getpid()) + " ("
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, err, who)
		require.ErrorContains(t, err, "listens on it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Listen(ctx, address, time.Hour)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	began := time.Now()
	for _, wrong := range []string{"127.0.0.1:99999", "192.0.2.1:80"} { // no such port, no address of this machine
		_, err = Listen(t.Context(), wrong, time.Hour)
		require.Error(t, err)
	}
	require.ErrorContains(t, err, "is it that of a task which runs elsewhere?")
	require.Less(t, time.Since(began), time.Minute)

	// An outgoing connection that was given the port.
	out, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer out.Close()
	_, err = Listen(t.Context(), out.LocalAddr().String(), 0)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, err, who)
		require.ErrorContains(t, err, "has a connection from it")
	}
}
