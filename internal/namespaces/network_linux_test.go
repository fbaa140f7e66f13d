package namespaces

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func network(t *testing.T, hosts int) *Network {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	n, err := New(hosts, 1)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

// echo answers on a host and returns a connection to it from another one.
func echo(t *testing.T, n *Network, from, to int) net.Conn {
	t.Helper()
	var l net.Listener
	require.NoError(t, n.Do(to, func() (err error) {
		l, err = net.Listen("tcp", n.Address(to)+":7000")
		return err
	}))
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }() // until the other side closes
		}
	}()
	var c net.Conn
	require.NoError(t, n.Do(from, func() (err error) {
		c, err = net.DialTimeout("tcp", n.Address(to)+":7000", 5*time.Second)
		return err
	}))
	t.Cleanup(func() { _ = c.Close() }) // it may have failed
	return c
}

// ask sends a byte and waits for it to come back.
func ask(t *testing.T, c net.Conn, within time.Duration) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	require.NoError(t, c.SetDeadline(began.Add(within)))
	if _, err := c.Write([]byte{42}); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return time.Since(began), err
}

func TestNetwork(t *testing.T) {
	n := network(t, 3)
	c := echo(t, n, 0, 2)
	_, err := ask(t, c, 5*time.Second)
	require.NoError(t, err)
	n.SetAll(Link{Delay: 30 * time.Millisecond})
	d, err := ask(t, c, 5*time.Second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, d, 60*time.Millisecond)
	n.SetAll(Link{})
	for _, cut := range []func(){
		func() { n.Pull(2, true) }, func() { n.Pull(0, true) }, func() { n.Part(0, 1) }, func() { n.Set(0, 2, Link{Down: true}) }, func() { n.Set(2, 0, Link{Down: true}) },
	} {
		cut()
		before := n.Counts().Cut
		_, err = ask(t, c, 100*time.Millisecond)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Greater(t, n.Counts().Cut, before)
		n.SetAll(Link{})
		_, err = io.ReadFull(c, discardOne(t, c))
		require.NoError(t, err, "what was lost is sent again")
	}
	n.Pull(1, true)
	_, err = ask(t, c, 5*time.Second)
	require.NoError(t, err, "the others do not notice")
	n.Part()
	echo(t, n, 1, 0)
}

// discardOne waits for the answer that was late.
func discardOne(t *testing.T, c net.Conn) []byte {
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return make([]byte, 1)
}

// A process that is started on a host sees its devices and no others.
func TestStart(t *testing.T) {
	n := network(t, 2)
	var text strings.Builder
	c := exec.Command("/bin/cat", "/proc/net/dev", "/proc/net/fib_trie")
	c.Stdout = &text
	require.NoError(t, n.Start(1, c))
	require.NoError(t, c.Wait())
	require.Contains(t, text.String(), "tun0:")
	require.Contains(t, text.String(), "10.77.0.2")
	require.NotContains(t, text.String(), "10.77.0.1\n")
	require.NotContains(t, text.String(), "eth0")
	require.Error(t, n.Start(0, exec.Command("/no/such/program")))
	_, err := New(0, 1)
	require.Error(t, err)
}
