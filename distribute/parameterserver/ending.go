package parameterserver

import (
	"context"
	"os"
	"time"

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

// lingering is shorter than ports.Patience, for which a server of the next job tries to open the port.
const lingering = 2 * time.Second

// farewell says to those who come that the job is over, for as long as the coordinator asked for.
func (s *Server) farewell(ctx context.Context) {
	select {
	case <-time.After(time.Duration(s.lingering.Load())):
	case <-ctx.Done():
	}
}

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
			_, err := l.invoke(ctx, "Attend", nil)
			answers <- l.ended(err)
		}()
	}
	for range c.links {
		if <-answers {
			return true
		}
	}
	return false
}

// ended reports whether an error tells this worker that the job is over.
func (l *link) ended(err error) bool {
	return l.s.task.Type == cluster.Worker && (status.Code(err) == ended || l.s.over())
}
