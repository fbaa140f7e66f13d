package namespaces

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Network is a set of hosts that reach each other. Its methods may be called from any goroutine.
type Network struct {
	hosts []*host

	mu    sync.Mutex // guards wire
	wire  *wire
	wake  chan struct{}
	stop  chan struct{}
	tasks sync.WaitGroup
}

// host is a network namespace. A thread of this process stays in it as long as the network exists, and runs what is to
// happen there.
type host struct {
	device *os.File
	work   chan func()
}

// Available reports why networks cannot be created here, or nil if they can.
func Available() error {
	if os.Geteuid() != 0 {
		return errors.New("networks of namespaces need root")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return fmt.Errorf("networks of namespaces need TUN devices: %w", err)
	}
	n, err := New(1, 0)
	if err != nil {
		return err
	}
	n.Close()
	return nil
}

// New makes a network of some hosts, at most 250, all of whose links deliver immediately. The seed decides which
// packets are lost and reordered.
func New(hosts int, seed uint64) (*Network, error) {
	if hosts < 1 || hosts > 250 {
		return nil, fmt.Errorf("namespaces: a network of %d hosts; expected 1 to 250", hosts)
	}
	n := &Network{wire: newWire(hosts, seed), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	for i := range hosts {
		h, err := newHost(i)
		if err != nil {
			n.Close()
			return nil, fmt.Errorf("namespaces: host %d: %w", i, err)
		}
		n.hosts = append(n.hosts, h)
	}
	n.tasks.Add(1 + hosts)
	go n.deliver()
	for i, h := range n.hosts {
		go n.read(i, h)
	}
	return n, nil
}

// Address is the IP address of a host.
func (n *Network) Address(host int) string { return address(host).String() }

func address(host int) net.IP { return net.IPv4(10, 77, 0, byte(host+1)) }

// Start starts a command on a host.
func (n *Network) Start(host int, c *exec.Cmd) error {
	var err error
	n.hosts[host].run(func() { err = c.Start() })
	return err
}

// Do runs a function on a host: sockets that it creates belong there, even after it has returned.
func (n *Network) Do(host int, f func() error) error {
	var err error
	n.hosts[host].run(func() { err = f() })
	return err
}

// Set changes the way from one host to another, not the way back.
func (n *Network) Set(from, to int, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wire.links[from][to] = l
}

// SetAll changes all ways.
func (n *Network) SetAll(l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, to := range n.wire.links {
		for i := range to {
			to[i] = l
		}
	}
}

// Pull takes a host off the network, in both directions, or puts it back. Its device stays up: connections are silent,
// not broken.
func (n *Network) Pull(host int, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.hosts {
		n.wire.links[host][i].Down, n.wire.links[i][host].Down = down, down
	}
}

// Part cuts the network in two: those in part, and the others. If part is empty, the network is whole again.
func (n *Network) Part(part ...int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := make([]bool, len(n.hosts))
	for _, i := range part {
		in[i] = true
	}
	for i := range n.hosts {
		for j := range n.hosts {
			n.wire.links[i][j].Down = in[i] != in[j]
		}
	}
}

// Counts says what became of the packets so far.
func (n *Network) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wire.counts
}

// Close ends the network. Namespaces vanish with the last process in them.
func (n *Network) Close() {
	close(n.stop)
	for _, h := range n.hosts {
		_ = h.device.Close() // which ends its reader
		close(h.work)
	}
	n.tasks.Wait()
}

// read takes what a host sends.
func (n *Network) read(from int, h *host) {
	defer n.tasks.Done()
	buffer := make([]byte, 1<<16)
	for {
		size, err := h.device.Read(buffer)
		if err != nil { // the device was closed
			return
		}
		p := buffer[:size]
		if size < 20 || p[0]>>4 != 4 || p[16] != 10 || p[17] != 77 || p[18] != 0 {
			continue // not IPv4, or not for here
		}
		to := int(p[19]) - 1
		if to < 0 || to >= len(n.hosts) {
			continue
		}
		n.mu.Lock()
		n.wire.take(time.Now(), from, to, append([]byte(nil), p...))
		n.mu.Unlock()
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

// deliver gives packets to their hosts when they arrive.
func (n *Network) deliver() {
	defer n.tasks.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		n.mu.Lock()
		p, ok, next := n.wire.due(time.Now())
		n.mu.Unlock()
		if ok {
			_, _ = n.hosts[p.to].device.Write(p.data) // a packet that the kernel does not want is lost
			continue
		}
		timer.Reset(time.Hour)
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-timer.C:
		case <-n.wake:
		case <-n.stop:
			return
		}
	}
}

// newHost makes a namespace with a device.
func newHost(number int) (*host, error) {
	h := &host{work: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			runtime.UnlockOSThread()
			ready <- err
			return
		}
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			h.device, err = open(address(number))
		}
		ready <- err
		if err == nil {
			for f := range h.work {
				f()
			}
		}
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread() // else the thread ends with this goroutine
		}
		_ = unix.Close(home) // it was only read
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return h, nil
}

// run runs f on the thread in the namespace.
func (h *host) run(f func()) {
	done := make(chan struct{})
	h.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// open makes the device of the namespace that this thread is in, and gives it and the loopback device their addresses.
func open(ip net.IP) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device := func(name string) *unix.Ifreq {
		r, _ := unix.NewIfreq(name) // fails for long names only
		return r
	}
	r := device("tun0")
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("TUNSETIFF: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(socket)
		err = configure(socket, device, ip)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "tun0"), nil
}

func configure(socket int, device func(string) *unix.Ifreq, ip net.IP) error {
	inet := func(request uint, address net.IP) error {
		r := device("tun0")
		if err := r.SetInet4Addr(address.To4()); err != nil {
			return err
		}
		return unix.IoctlIfreq(socket, request, r)
	}
	up := func(name string) error {
		r := device(name)
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, r)
	}
	if err := inet(unix.SIOCSIFADDR, ip); err != nil {
		return fmt.Errorf("SIOCSIFADDR: %w", err)
	}
	if err := inet(unix.SIOCSIFNETMASK, net.IPv4(255, 255, 255, 0)); err != nil {
		return fmt.Errorf("SIOCSIFNETMASK: %w", err)
	}
	for _, name := range []string{"lo", "tun0"} {
		if err := up(name); err != nil {
			return fmt.Errorf("SIOCSIFFLAGS %s: %w", name, err)
		}
	}
	return nil
}
