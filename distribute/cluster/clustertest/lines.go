package clustertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Fault happens when the given number of bytes has passed a line.
type Fault struct {
	At   int
	Kind Kind
	For  time.Duration
}

// line is the way to one worker: it takes the connections to its address and hands on what comes, until a fault.
type line struct {
	front  net.Listener
	back   string // where the worker listens
	faults []Fault
	wait   sync.WaitGroup

	mu      sync.Mutex
	passed  int // bytes, both ways
	next    int // fault
	ends    map[net.Conn]bool
	dead    map[net.Conn]bool // what is written to them is lost
	dark    time.Time         // until then new connections are dead
	refuses time.Time         // until then there are none
	stalls  time.Time         // until then nothing moves
	slow    time.Time         // until then little does
	closed  bool
}

// Kind is what happens.
type Kind int

// The kinds of faults.
const (
	Cut    Kind = iota // connections end within a message
	Reset              // with a reset
	Dark               // the host vanishes without a word: what is sent is lost
	Deaf               // it hears nothing any more, while what it says arrives
	Stop               // nothing moves for a while, and nothing is lost
	Slow               // 1 Mbit/s and 20 ms
	Refuse             // it takes no connections, as where descriptors are exhausted
	kinds
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"cut", "reset", "vanishes", "deaf", "stops", "slow", "refuses"}[k]
}

// String is the fault in words.
func (f Fault) String() string { return fmt.Sprintf("%v at byte %d for %v", f.Kind, f.At, f.For) }

// Draw draws a fault: moments in the handshake of the first connection are as likely as those in the training.
func Draw(rng *rand.Rand, deadline time.Duration) Fault {
	return Fault{1 + int(math.Exp(rng.Float64()*math.Log(60e3))), Kind(rng.IntN(int(kinds))), time.Duration((0.2 + 2*rng.Float64()) * float64(deadline))}
}

// Lines opens ways to n workers, which listen behind them.
func Lines(t testing.TB, n int, faults func(i int) []Fault) (addresses []string, behind []net.Listener) {
	t.Helper()
	for i := range n {
		front, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		back, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l := &line{front: front, back: back.Addr().String(), faults: faults(i), ends: map[net.Conn]bool{}, dead: map[net.Conn]bool{}}
		l.wait.Go(l.serve)
		t.Cleanup(l.close)
		addresses, behind = append(addresses, front.Addr().String()), append(behind, back)
	}
	return addresses, behind
}

func (l *line) close() {
	_ = l.front.Close()
	l.mu.Lock()
	l.closed = true
	for c := range l.ends {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.wait.Wait()
}

func (l *line) serve() {
	for {
		near, err := l.front.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		refused, dark := l.closed || time.Now().Before(l.refuses), time.Now().Before(l.dark)
		l.ends[near] = true
		l.dead[near] = dark
		l.mu.Unlock()
		if refused {
			_ = near.Close()
			continue
		}
		l.wait.Go(func() {
			far, err := net.Dial("tcp", l.back)
			if err != nil {
				_ = near.Close()
				return
			}
			l.mu.Lock()
			l.ends[far], l.dead[far] = true, dark
			if l.closed {
				_ = far.Close()
			}
			l.mu.Unlock()
			l.wait.Go(func() { l.pipe(near, far) })
			l.pipe(far, near)
		})
	}
}

// pipe hands on what comes from one end.
func (l *line) pipe(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 1024)
	for {
		n, err := from.Read(b)
		if n > 0 && !l.hand(to, b[:n]) || err != nil {
			return
		}
	}
}

// hand writes up to a fault, and then what the fault leaves.
func (l *line) hand(to net.Conn, b []byte) bool {
	for len(b) > 0 {
		l.mu.Lock()
		n, struck := len(b), false
		if l.next < len(l.faults) {
			if left := max(l.faults[l.next].At-l.passed, 0); left <= n {
				n, struck = left, true
			}
		}
		l.passed += n
		dead, stalls, slow := l.dead[to], time.Until(l.stalls), time.Now().Before(l.slow)
		l.mu.Unlock()
		time.Sleep(stalls)
		if slow {
			time.Sleep(20*time.Millisecond + time.Duration(n)*8*time.Microsecond)
		}
		if !dead {
			if _, err := to.Write(b[:n]); err != nil {
				return false
			}
		}
		b = b[n:]
		if struck && !l.strike(to) {
			return false
		}
	}
	return true
}

// strike lets the next fault happen, and reports whether the connections go on.
func (l *line) strike(at net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == len(l.faults) {
		return true
	}
	f := l.faults[l.next]
	l.next++
	until := time.Now().Add(f.For)
	switch f.Kind {
	case Stop:
		l.stalls = until
		return true
	case Slow:
		l.slow = until
		return true
	case Dark:
		l.dark = until
		for c := range l.ends {
			l.dead[c] = true
		}
		return true
	case Deaf:
		l.dead[at] = true
		return true
	case Refuse:
		l.refuses = until
	}
	for c := range l.ends {
		if tcp, ok := c.(*net.TCPConn); ok && f.Kind == Reset {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		delete(l.ends, c)
	}
	return false
}
