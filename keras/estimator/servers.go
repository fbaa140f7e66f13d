package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// Train with a ParameterServerStrategy as TrainDistribute: workers compute the gradients of the ModelFn's loss, each
// for batches of its own input (servers_worker.go). Servers store and update the variables (servers_variables.go). The
// coordinator assigns the steps, calls the hooks and writes checkpoints (servers_coordinator.go).

// onServers returns the strategy of Train if it uses parameter servers, otherwise nil.
func (e *Estimator) onServers() *distribute.ParameterServerStrategy {
	s, _ := e.config.TrainDistribute.(*distribute.ParameterServerStrategy)
	return s
}

// serverTraining is a session of Train in one process of such a job.
type serverTraining struct {
	s        *Session
	strategy *distribute.ParameterServerStrategy
	job      parameters.Job
	number   int // of the call
	name     string
	done     int64        // updates that the servers have made
	saves    func() error // called before a checkpoint is written

	optimizers []optimizers.Optimizer
	trained    []*serverVariable
	moved      []*serverVariable             // assigned by the step: moving statistics
	replaced   map[*distribute.Variable]bool // assigned by the step before gradients are applied, except untrained ones that it only adds to

	gradients map[*distribute.Variable]*ops.Tensor // of the current trace
	batch     string                               // types of the first batch
	listed    []string                             // operations of the step for that batch
	compared  bool                                 // compared with the coordinator's

	mu    sync.Mutex // one step at a time
	left  bool
	next  func() (distribute.PerReplicaBatch, error, bool)
	ended bool // the data of this worker have ended
}

// serverVariable is a variable of the session and its counterpart on the servers.
type serverVariable struct {
	local      *distribute.Variable
	optimizer  int // index of the optimizer that updates it
	rule       parameters.Rule
	constraint parameters.Constraint
	remote     *parameters.Variable
}

// serverResult is what a step tells the coordinator.
type serverResult struct {
	Over   bool // the data have ended
	Loss   float64
	Values map[string]float64
}

// serverOrder is what the coordinator tells a step.
type serverOrder struct {
	Step  int64
	Rates []float64 // learning rates of the optimizers
}

// trainOnServers is Train under a ParameterServerStrategy.
func (e *Estimator) trainOnServers(ctx context.Context, strategy *distribute.ParameterServerStrategy, inputFn InputFn, o *options) error {
	if replicas, _ := strategy.Job().Rounds(); replicas > 0 {
		return errors.New("estimator: Train: an Estimator trains asynchronously on parameter servers; leave Consistency.Synchronous out, or train a keras.Model with Fit")
	}
	checkpoint := ""
	if strategy.IsCoordinator() {
		var err error
		if checkpoint, err = e.LatestCheckpoint(); err != nil {
			return err
		}
	}
	s, err := e.newSession(TRAIN, checkpoint, nil)
	if err != nil {
		return err
	}
	defer s.function.Close()
	t := &serverTraining{s: s, strategy: strategy, job: strategy.Job(), number: strategy.NextCall()}
	if e.serverCall == 0 {
		e.serverCall = t.number
	}
	t.name = fmt.Sprintf("estimator/%d/", e.serverCall)
	s.servers = t
	over, err := t.over(ctx)
	if err != nil || over {
		return err
	}
	ds, err := distributed(strategy, t.sharded(inputFn), e.transform, true, &s.layout)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(ds.Batches(ctx, 0))
	defer stop()
	t.next = next
	if !strategy.IsCoordinator() {
		return t.work(ctx)
	}
	err = t.coordinate(ctx, o)
	text := ""
	if err != nil {
		text = err.Error()
	}
	return errors.Join(err, parameters.SetLastNote(ctx, t.job, t.noteName("end"), []byte("over "+text)))
}

func (t *serverTraining) noteName(what string) string {
	return fmt.Sprintf("estimator/call %d/%s", t.number, what)
}

// over reports whether the coordinator has finished this call.
func (t *serverTraining) over(ctx context.Context) (bool, error) {
	text, err := t.job.Note(ctx, t.noteName("end"))
	if err != nil || text == nil {
		return false, err
	}
	if failed := string(text[len("over "):]); failed != "" {
		return true, fmt.Errorf("estimator: Train: on the coordinator: %s", failed)
	}
	return true, nil
}

// sharded tells an input function which part of the data this worker reads.
func (t *serverTraining) sharded(f InputFn) InputFn {
	if f == nil {
		return nil
	}
	return func(c distribute.InputContext) (data.Dataset, error) {
		c.NumInputPipelines, c.InputPipelineID = t.job.Workers(), max(t.job.Worker(), 0)
		return f(c)
	}
}
