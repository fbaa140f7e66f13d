package distribute

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Elastic says how training continues when workers are lost and come back. The zero value keeps the number of workers:
// training waits until a lost worker returns. With a smaller Min training continues with the remaining workers, and
// readmits a returning worker between two steps. Each global batch is then divided among the current workers, so that
// every example still counts once and the loss is that of the whole batch.
type Elastic struct {
	// Min and Max are the smallest and largest number of workers that train; 0 means all workers of the cluster. With a
	// Min below a majority, both parts of a partitioned network continue; when they meet again, the one with fewer
	// steps discards its work. Workers beyond Max wait in multiworker.NewStrategy, up to the join timeout, for one that
	// is lost.
	Min, Max int
	// Patience is how long the others wait for a lost worker before they continue with fewer; 0 means 1 s, and a
	// negative value means that they do not wait. It has no effect if Min is all workers: then the wait ends with an
	// error after the join timeout of the group (5 min).
	Patience time.Duration
}

// Check returns an error if the numbers do not fit a cluster of n workers.
func (e *Elastic) Check(n int) error {
	least, most := e.Bounds(n)
	if e.Min < 0 || e.Max < 0 || least > most || most > n {
		return fmt.Errorf("Elastic with Min %d and Max %d does not fit a cluster of %d workers; expected 1 <= Min <= Max <= %d", e.Min, e.Max, n, n)
	}
	return nil
}

// Bounds returns Min and Max with their defaults for a cluster of n workers.
func (e *Elastic) Bounds(n int) (least, most int) {
	least, most = e.Min, e.Max
	if most == 0 {
		most = n
	}
	if least == 0 {
		least = most
	}
	return least, most
}

// Wait is Patience with its default.
func (e *Elastic) Wait() time.Duration {
	switch {
	case e.Patience == 0:
		return time.Second
	case e.Patience < 0:
		return 0
	}
	return e.Patience
}

// Standing says how far a worker has come.
type Standing struct {
	HasState bool   // it has the weights and the rest of the training state
	Step     uint64 // the last step that it completed, counted over all of the job
}

// Roster describes a group as it formed.
type Roster struct {
	Generation uint64
	Step       uint64 // the last step that any worker of it completed
	Source     int    // rank of a worker that has the state after it; -1: none has
	Behind     []int  // ranks of those that need it
}

// ErrLeft is in the error of [ElasticGroup].Regroup if so many workers have left the job in good order that too few
// remain for a group.
var ErrLeft = errors.New("it has left the job in good order")

// ElasticGroup is a [WorkerGroup] that can be formed again when workers are lost.
type ElasticGroup interface {
	WorkerGroup
	// Lost reports whether err says that the group has ended because workers are gone, or that this worker was
	// expelled. Regroup then forms the next group.
	Lost(err error) bool
	// Regroup forms the next group from its callers and from waiting workers. Rank and Size may change.
	Regroup(ctx context.Context, own Standing) error
	// Roster describes the group.
	Roster() Roster
	// First reports, after Regroup has failed, whether this worker is the first of those workers of the last group that
	// are still there.
	First() bool
	// Pending reports whether workers are waiting to join and there is room for them.
	Pending() bool
}

// elastic is the state that a strategy keeps for workers that come and go.
type elastic struct {
	standing Standing
	joining  bool // a running job took this worker in; the first Fit gets its state
	ended    bool // the last group has ended, and no other one came
	first    bool // then: this worker does what the chief does
}

// Elastic returns the group of the workers if it can be formed again, or nil.
func (s *MultiWorkerMirroredStrategy) Elastic() ElasticGroup {
	g, _ := s.at.Group.(ElasticGroup)
	return g
}

// Standing says how far this worker has come; it tells the others so when the group is formed again.
func (s *MultiWorkerMirroredStrategy) Standing() Standing { return s.elastic.standing }

// Advance notes a completed step. Fit calls it.
func (s *MultiWorkerMirroredStrategy) Advance(to Standing) { s.elastic.standing = to }

// Joining reports whether this worker has joined a running job and has not received its state yet.
func (s *MultiWorkerMirroredStrategy) Joining() bool { return s.elastic.joining }

// Joined notes that it has received the state.
func (s *MultiWorkerMirroredStrategy) Joined() { s.elastic.joining = false }

// Recovers reports whether Fit continues when workers are lost: the strategy was made with [Elastic], or Recover was
// called.
func (s *MultiWorkerMirroredStrategy) Recovers() bool { return s.at.Elastic }

// Recover makes Fit continue when workers are lost, as with a zero [Elastic]. Fit calls it if it has a BackupAndRestore
// callback; then all workers must call it. It returns false if there is only one process. It also returns false with
// ShardOptimizerState, because a lost worker takes its piece of the optimizer's state with it; the job is then
// restarted from its backup.
func (s *MultiWorkerMirroredStrategy) Recover() bool {
	s.at.Elastic = s.at.Elastic || s.Elastic() != nil && !s.at.ShardOptimizerState
	return s.at.Elastic
}

// Rejoin is Regroup for a worker without state: it joins a running job, or starts one with others that have none
// either.
func (s *MultiWorkerMirroredStrategy) Rejoin(ctx context.Context) error {
	s.elastic.standing, s.elastic.joining = Standing{}, false
	if err := s.Regroup(ctx); err != nil {
		return err
	}
	return s.meet(ctx)
}

// Regroup forms the next group and gives this worker its rank in it. Programs are traced again if the number of
// replicas has changed. Fit calls it between two steps.
func (s *MultiWorkerMirroredStrategy) Regroup(ctx context.Context) error {
	g := s.Elastic()
	if g == nil {
		return errors.New("distribute: the workers of this strategy cannot form a new group")
	}
	if err := g.Regroup(ctx, s.elastic.standing); err != nil {
		s.elastic.ended, s.elastic.first = true, s.elastic.standing.HasState && g.First()
		return fmt.Errorf("distribute: %w", err)
	}
	s.elastic.ended = false
	s.place(g)
	return nil
}

// place copies rank and size from the group.
func (s *MultiWorkerMirroredStrategy) place(g WorkerGroup) {
	s.at.Total, s.at.First = len(s.at.Devices)*g.Size(), len(s.at.Devices)*g.Rank()
	s.at.Renew() // they connect the replicas of the group before
}

// meet makes sure that all workers have the same number of replicas. A worker that joins a running job finds the others
// in the middle of Fit, which does this check.
func (s *MultiWorkerMirroredStrategy) meet(ctx context.Context) error {
	g := s.Elastic()
	call := WorkerCall{Name: fmt.Sprintf("%sStrategy with %d replicas on each worker", s.name, len(s.at.Devices))}
	for {
		if g != nil && g.Roster().Source >= 0 {
			s.elastic.joining = true
			return nil
		}
		err := s.at.Group.Agree(ctx, call)
		if err == nil {
			s.elastic.standing = Standing{HasState: true}
			return nil
		}
		if g == nil || !s.at.Elastic || !g.Lost(err) {
			return fmt.Errorf("distribute: %w", err)
		}
		if err := s.Regroup(ctx); err != nil {
			return err
		}
	}
}
