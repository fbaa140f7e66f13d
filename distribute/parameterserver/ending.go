package parameterserver

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// ended is what servers answer for a while after the end of a job, so that a worker that was being started again learns
// it. All others take it for a server that does not answer: a new coordinator waits for a new one.
const ended = codes.OutOfRange

// linger is how long servers answer so, where there were workers and not all were told. It delays the servers alone. A
// program that starts all processes tells its workers itself.
func (c *coordinator) linger() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.devices) == 0 || len(c.told) == len(c.s.workers) || os.Getenv(supervisor.OverVariable) != "" {
		return 0
	}
	return lingering
}

// lingering is shorter than ports.Patience, for which a server of the next job tries to open the port, and longer than
// a worker doubts what it hears.
const lingering = 3 * time.Second

// farewell says to those who come that the job is over, for as long as the coordinator asked for, or until the next job
// begins.
func (s *Server) farewell(ctx context.Context) {
	select {
	case <-time.After(time.Duration(s.lingering.Load())):
	case <-s.dismissed:
	case <-ctx.Done():
	}
}

// dismissMethod is the call of a server of the next job, which needs the port, and of its coordinator. A server whose
// job goes on pays no attention to it.
const dismissMethod = "Dismiss"

func (s *Server) dismissal(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	if err := s.settings.recognize(ctx); err != nil {
		return nil, err
	}
	var in message
	if err := decode(&in); err != nil {
		return nil, err
	}
	if s.goesOn() != nil {
		s.dismiss.Do(func() { close(s.dismissed) })
	}
	return &message{make([]byte, headerBytes)}, nil
}

// succeed lets the server that had the address of this one before it go, if its job has ended.
func (s *settings) succeed(ctx context.Context, m cluster.Member) error {
	if s.Listener != nil {
		return nil
	}
	l, err := s.newLink(m)
	if err != nil {
		return err
	}
	l.dismiss(ctx)
	return l.conn.Close()
}

func (l *link) dismiss(ctx context.Context) {
	ctx, cancel := context.WithTimeout(l.s.introduce(ctx), min(l.s.Deadline, 300*time.Millisecond))
	defer cancel()
	_, _ = l.invoke(ctx, dismissMethod, nil) // who does not answer is gone, or somebody else
}

// doubts is how long a worker does not believe what it hears about the end of a job since it began to look: the job may
// have ended before, and a new one of the same name is being started, whose server is about to come.
const doubts = time.Second

// news is what a worker has heard of the end. Several calls to several servers are under way at once: an answer of a
// server that is not over says something only if its call began after another server had said that the job has ended.
type news struct {
	began time.Time
	heard atomic.Int64 // when a server said last that the job has ended, since began; 0: one has answered another call since
}

func (n *news) hasEnded() { n.heard.Store(int64(max(1, time.Since(n.began)))) }

// goesOn is that a server has answered a call which was made then.
func (n *news) goesOn(asked time.Time) {
	if heard := n.heard.Load(); heard != 0 && int64(asked.Sub(n.began)) >= heard {
		n.heard.CompareAndSwap(heard, 0)
	}
}

func (n *news) believed() bool { return n.heard.Load() != 0 && time.Since(n.began) >= doubts }

// The bytes of an answer behind its kind: what it has to do with the end.
const (
	whileGoing byte = iota
	afterwards      // the job has ended; this is what the coordinator left
)

func saidAfterwards(answer []byte) bool { return len(answer) >= headerBytes && answer[9] == afterwards }

// afterEnd are the methods that servers still answer then: notes say why the job has ended.
var afterEnd = map[string]bool{"Stop": true, "Note": true}

// goesOn is nil while the job does.
func (s *Server) goesOn() error {
	select {
	case <-s.stopped:
		if s.lingering.Load() > 0 {
			return status.Errorf(ended, "%v: the job has ended", s.settings.task)
		}
	default:
	}
	return nil
}

// heardEnd asks the servers, for a moment, whether the job has ended.
func (c *client) heardEnd(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(c.s.introduce(ctx), min(c.s.Deadline, 300*time.Millisecond))
	defer cancel()
	answers := make(chan bool, len(c.links))
	for _, l := range c.links {
		go func() {
			asked := time.Now()
			_, err := l.invoke(ctx, "Attend", nil)
			answers <- l.ended(asked, err)
		}()
	}
	for range c.links {
		if <-answers {
			return true
		}
	}
	return false
}

// ended reports whether what came of an attempt that was made then tells this worker that the job is over. Where a
// server has said so that is gone now, and nobody has come in its place, it is.
func (l *link) ended(asked time.Time, err error) bool {
	if l.s.task.Type != cluster.Worker {
		return false
	}
	switch status.Code(err) {
	case codes.OK:
		l.s.news.goesOn(asked)
	case ended:
		l.s.news.hasEnded()
	case codes.Unavailable:
	default:
		return l.s.over()
	}
	return l.s.over() || l.s.news.believed()
}
