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

// ended is what servers answer for a while after the end of a job, so that a worker that was being restarted learns of
// it. All other processes treat it like a server that does not answer: a new coordinator waits for a new server.
const ended = codes.OutOfRange

// linger returns how long servers give this answer if there were workers and not all of them were told. It delays only
// the servers. A launcher that starts all processes tells its workers itself.
func (c *coordinator) linger() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.devices) == 0 || len(c.told) == len(c.s.workers) || os.Getenv(supervisor.OverVariable) != "" {
		return 0
	}
	return lingering
}

// lingering is shorter than ports.Patience, the time for which a server of the next job tries to open the port, and
// longer than the time for which a worker doubts the answer.
const lingering = 3 * time.Second

// farewell tells callers that the job is over, for as long as the coordinator asked for, or until the next job begins.
func (s *Server) farewell(ctx context.Context) {
	select {
	case <-time.After(time.Duration(s.lingering.Load())):
	case <-s.dismissed:
	case <-ctx.Done():
	}
}

// dismissMethod is called by a server of the next job, which needs the port, and by its coordinator. A server whose job
// continues ignores it.
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

// succeed asks the previous server at this server's address to exit if its job has ended.
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

// doubts is how long a worker, after it starts to look, does not believe that the job has ended: it may hear of the end
// of an earlier job while a new job of the same name is being started.
const doubts = time.Second

// news is what a worker has heard about the end of the job. Several calls to several servers run at once. An answer
// from a server whose job continues counts only if its call began after another server had said that the job has ended.
type news struct {
	began time.Time
	heard atomic.Int64 // when a server said last that the job has ended, since began; 0: one has answered another call since
}

func (n *news) hasEnded() { n.heard.Store(int64(max(1, time.Since(n.began)))) }

// goesOn notes that a server whose job continues has answered a call that was made at that time.
func (n *news) goesOn(asked time.Time) {
	if heard := n.heard.Load(); heard != 0 && int64(asked.Sub(n.began)) >= heard {
		n.heard.CompareAndSwap(heard, 0)
	}
}

func (n *news) believed() bool { return n.heard.Load() != 0 && time.Since(n.began) >= doubts }

// The bytes after the kind of an answer: what it says about the end of the job.
const (
	whileGoing byte = iota
	afterwards      // the job has ended; this is what the coordinator left
)

func saidAfterwards(answer []byte) bool { return len(answer) >= headerBytes && answer[9] == afterwards }

// afterEnd lists the methods that servers still answer after the end: notes say why the job has ended.
var afterEnd = map[string]bool{"Stop": true, "Note": true}

// goesOn returns nil while the job continues.
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

// heardEnd asks the servers, with a short timeout, whether the job has ended.
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

// ended reports whether the result of an attempt, made at time asked, tells this worker that the job is over. The job
// is also over if a server has said so, is now gone, and has no successor.
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
