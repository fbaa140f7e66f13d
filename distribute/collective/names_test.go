package collective

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// names is a server of names that this process asks; not for parallel tests.
type names struct {
	mu    sync.Mutex
	hosts map[string]net.IP
}

func serveNames(t *testing.T) *names {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &names{hosts: map[string]net.IP{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b := make([]byte, 512)
		for {
			size, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(n.answer(b[:size]), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = server.Close()
		<-ended
	})
	return n
}

func (n *names) set(host, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = net.ParseIP(ip).To4()
}

// answer is that to one question; see RFC 1035, section 4.1.
func (n *names) answer(query []byte) []byte {
	const header, kindA = 12, 1
	var labels []string
	at := header
	for query[at] != 0 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += 1 + int(query[at])
	}
	kind := binary.BigEndian.Uint16(query[at+1:])
	end := at + 5
	n.mu.Lock()
	ip := n.hosts[strings.Join(labels, ".")]
	n.mu.Unlock()
	out := append([]byte(nil), query[:end]...)
	out[2], out[3] = 0x81, 0x80                   // an answer
	copy(out[4:], []byte{0, 1, 0, 0, 0, 0, 0, 0}) // to one question
	if ip == nil {
		out[3] |= 3 // there is no such name
	} else if kind == kindA {
		out[7] = 1
		out = append(out, 0xC0, header, 0, kindA, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, ip...)
	}
	return out
}

// TestNamesOfWorkers: names that are known late, and a worker that is started again at another address behind its name,
// as containers are.
func TestNamesOfWorkers(t *testing.T) {
	known := serveNames(t)
	_, list := listeners(t, 2)
	var addresses []string
	for i, l := range list {
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, l.Close())
		addresses = append(addresses, net.JoinHostPort([]string{"w0.job.test", "w1.job.test"}[i], port))
	}
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(t, err)
	type joined struct {
		g   *Group
		err error
	}
	start := func(i int) chan joined {
		c := make(chan joined, 1)
		go func() {
			g, err := Join(background(), Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: i}, Security: &Security{Secret: []byte(testSecret)}, Deadline: time.Second, JoinTimeout: 20 * time.Second})
			c <- joined{g, err}
		}()
		return c
	}
	clock := fairclock.Start()
	defer clock.Stop()
	get := func(c chan joined) *Group {
		one := fairclock.Receive(t, clock, 15*time.Second, c, "a group")
		require.NoError(t, one.err)
		return one.g
	}
	first, second := start(0), start(1)
	time.Sleep(300 * time.Millisecond)
	known.set("w0.job.test", "127.0.0.2")
	known.set("w1.job.test", "127.0.0.3")
	groups := []*Group{get(first), get(second)}
	barrier := func() { noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) })) }
	barrier()
	require.NoError(t, groups[1].Close())
	require.ErrorContains(t, groups[0].Barrier(background()), "worker:1 ("+addresses[1]+"): left")
	again := make(chan error, 1)
	go func() { again <- groups[0].Regroup(background(), Terms{Min: 2, Max: 2}) }()
	known.set("w1.job.test", "192.0.2.1") // the record is of before; nobody has this address
	second = start(1)
	time.Sleep(300 * time.Millisecond)
	known.set("w1.job.test", "127.0.0.4")
	groups[1] = get(second)
	require.NoError(t, <-again)
	barrier()
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Close() }))
}
