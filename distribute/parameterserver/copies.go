package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// Copies says where the two copies of the variables of one server are. Those of server i are on it and on the next
// server.
type Copies struct {
	Primary, Backup int  // servers by index, of which the primary answers; -1: there is none
	Complete        bool // both copies are there and have everything: either server may be stopped
}

// FindCopies asks the servers of a job with [Options].Replicas 2 where copies are, and returns the answers in the order
// of the servers. Call it before you stop a server, for a new program or another machine: while copies are incomplete,
// losing a server ends the job. A server that does not answer within Options.Deadline counts as lost. The calling
// process takes no part in the job: Options need a Resolver that knows the cluster, and the job's Security.
func FindCopies(ctx context.Context, o Options) ([]Copies, error) {
	s, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if s.Replicas < 2 {
		return nil, errors.New("parameterserver: FindCopies: Options.Replicas is not 2: each variable is on one server")
	}
	c, err := newClient(s)
	if err != nil {
		return nil, err
	}
	reports, err := c.reports(ctx)
	if err = errors.Join(err, c.close()); err != nil {
		return nil, err
	}
	return copiesOf(reports), nil
}

// reports returns the servers' reports on their copies; nil for servers that do not answer.
func (c *client) reports(ctx context.Context) ([]*protocol.Report, error) {
	reports, errs := make([]*protocol.Report, len(c.links)), make([]error, len(c.links))
	var wait sync.WaitGroup
	for i, l := range c.links {
		wait.Add(1)
		go func() {
			defer wait.Done()
			attempt, cancel := context.WithTimeout(ctx, c.s.Deadline)
			defer cancel()
			a, err := l.attend(attempt, 0, nil)
			switch code := status.Code(err); {
			case err == nil:
				reports[i] = &a.Report
			case code != codes.Unavailable && code != codes.DeadlineExceeded:
				errs[i] = fmt.Errorf("parameterserver: %v at %s: %s", l.member.Task, l.member.Address, status.Convert(err).Message())
			}
		}()
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return reports, errors.Join(errs...)
}

// copiesOf extracts the copies from reports.
func copiesOf(reports []*protocol.Report) []Copies {
	out := make([]Copies, len(reports))
	for group := range out {
		v := protocol.Latest(reports, group)
		has := func(h protocol.Holder) bool {
			if h.Server < 0 || h.Server >= len(reports) || reports[h.Server] == nil {
				return false
			}
			r := reports[h.Server]
			return r.Process == h.Process && r.Views[group] == v && r.Held[group]
		}
		out[group] = Copies{Primary: v.Primary.Server, Backup: v.Backup.Server, Complete: has(v.Primary) && has(v.Backup)}
	}
	return out
}
