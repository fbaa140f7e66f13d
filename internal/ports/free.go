// Package ports chooses addresses for processes on one machine, and opens them.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

const (
	lowest, highest = 10_000, 29_999 // preferred: above services of the system, below ports of Kubernetes' services and outgoing connections
	unprivileged    = 1024
	largest         = 65_535
	enough          = 1000 // ports to choose from, so that attempts seldom collide
	attempts        = 200
	kept            = 512 // claims of this process
)

// claims are UDP sockets with the numbers of the ports that this process was given. Nothing is ever sent to them. While
// they are open, other calls of Free, here or in another process, skip these ports, even if nobody listens on them at
// the moment.
var claims struct {
	sync.Mutex
	open []net.PacketConn // the oldest first
}

// Free returns n addresses of the loopback interface that nobody listens on, of consecutive ports. They are outside the
// range from which the system takes ports for outgoing connections, because such a connection could have the address at
// the moment when the process of the port is started again; ports from net.Listen(":0") are in that range. No other
// call returns them while this process lives, unless it has asked for hundreds since.
func Free(n int) ([]string, error) {
	from, to := ephemeral()
	least, most := span(from, to, n)
	if most-least+1 < n {
		return nil, fmt.Errorf("ports: received %d ports to choose, expected at most %d", n, most-least+1)
	}
	claims.Lock()
	defer claims.Unlock()
	var err error
	for range attempts {
		port := least + rand.IntN(most-least+2-n)
		var run []net.PacketConn
		var addresses []string
		if run, addresses, err = claim(port, n); err != nil {
			continue
		}
		for claims.open = append(claims.open, run...); len(claims.open) > max(kept, n); claims.open = claims.open[1:] {
			_ = claims.open[0].Close() // that of a socket which nobody uses
		}
		return addresses, nil
	}
	return nil, fmt.Errorf("ports: no %d free ports side by side between %d and %d of the loopback interface in %d attempts: %w", n, least, most, attempts, err)
}

// claim takes n ports from port on, or none.
func claim(port, n int) (run []net.PacketConn, addresses []string, err error) {
	defer func() {
		if err != nil {
			for _, c := range run {
				_ = c.Close() // as above
			}
		}
	}()
	for i := range n {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i))
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			return run, nil, err
		}
		run = append(run, c)
		l, err := net.Listen("tcp", address)
		if err != nil {
			return run, nil, err
		}
		if err := l.Close(); err != nil {
			return run, nil, err
		}
		addresses = append(addresses, address)
	}
	return run, addresses, nil
}

// span is the range from which n ports are chosen: the preferred range without the ports of outgoing connections, whose
// bounds are given; or else another range outside them; or, if nothing is left, the preferred range.
func span(from, to, n int) (least, most int) {
	for _, bounds := range [][2]int{{lowest, highest}, {unprivileged, largest}} {
		below, above := min(from-1, bounds[1])-bounds[0]+1, bounds[1]-max(to+1, bounds[0])+1
		switch need := max(enough, n); {
		case below >= need:
			return bounds[0], min(from-1, bounds[1])
		case above >= need:
			return max(to+1, bounds[0]), bounds[1]
		}
	}
	return lowest, highest
}

// ephemeral is the range from which the system takes ports for outgoing connections: Linux tells it; elsewhere it is
// that of the standard, which macOS and Windows follow.
func ephemeral() (from, to int) {
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &from, &to); err == nil {
			return from, to
		}
	}
	return 49_152, largest
}
