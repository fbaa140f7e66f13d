package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// job is a parameters.Job: what the coordinator and the workers share.
type job struct {
	s           *settings
	client      *client
	coordinator *coordinator // nil: a worker
	worker      *worker      // nil: the coordinator
}

// Join joins a job as its coordinator or as one of its workers. The coordinator waits until all servers answer, and
// takes over from an earlier coordinator: variables on the servers stay. A worker accepts closures from then on.
func Join(ctx context.Context, o Options) (parameters.Job, error) {
	s, err := o.resolve()
	if err != nil {
		return nil, err
	}
	switch s.task.Type {
	case cluster.ParameterServer:
		return nil, fmt.Errorf("parameterserver: task %v holds variables: call Serve for it, or Run for all tasks", s.task)
	case cluster.Evaluator:
		return nil, fmt.Errorf("parameterserver: task %v takes no part in training: let it follow checkpoints, as estimator.TrainAndEvaluate does, or start the job without one (keras launch without --evaluator)", s.task)
	}
	client, err := newClient(s)
	if err != nil {
		return nil, err
	}
	j := &job{s: s, client: client}
	if s.task.Type == cluster.Worker {
		j.worker, err = newWorker(ctx, s, client)
	} else {
		j.coordinator, err = newCoordinator(ctx, s, client)
	}
	if err != nil {
		return nil, errors.Join(err, client.close())
	}
	return j, nil
}

func (j *job) Coordinates() bool { return j.coordinator != nil }
func (j *job) Workers() int      { return len(j.s.workers) }

func (j *job) Worker() int {
	if j.worker == nil {
		return -1
	}
	return j.s.task.Index
}

func (j *job) Rounds() (replicas, backups int) {
	return j.s.Consistency.Replicas, j.s.Consistency.Backups
}

func (j *job) Round() uint64 {
	if j.coordinator == nil {
		return 0
	}
	j.coordinator.mu.Lock()
	defer j.coordinator.mu.Unlock()
	return j.coordinator.round + 1
}

func (j *job) Settle(ctx context.Context, parts []int) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	round := protocol.Settled{Round: j.Round(), Parts: slices.Sorted(slices.Values(parts))}
	err := j.client.settle(ctx, j.coordinator.term, round)
	if err == nil {
		j.coordinator.mu.Lock()
		j.coordinator.round = round.Round
		j.coordinator.mu.Unlock()
	}
	return err
}

func (j *job) Find(ctx context.Context, name string) (*parameters.Variable, error) {
	return j.client.find(ctx, name)
}

func (j *job) Pull(ctx context.Context, reads ...*parameters.Read) error {
	return j.client.pull(ctx, reads...)
}

func (j *job) Slots(ctx context.Context, v *parameters.Variable) (map[string][]float32, uint64, error) {
	names, err := j.client.slotNames(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	return j.client.slots(ctx, v, names)
}

func (j *job) Export(ctx context.Context, v *parameters.Variable) ([]int64, []float32, error) {
	return j.client.export(ctx, v)
}

func (j *job) Rows(ctx context.Context, v *parameters.Variable, f func(row parameters.Row) bool) (parameters.TableState, error) {
	return j.client.rows(ctx, v, f)
}

func (j *job) PutRows(ctx context.Context, v *parameters.Variable, of parameters.TableState, rows []parameters.Row) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	return j.client.putRows(ctx, j.coordinator.term, v, of, rows)
}

func (j *job) Note(ctx context.Context, key string) ([]byte, error) { return j.client.note(ctx, key) }

var errNotCoordinator = errors.New("parameterserver: only the coordinator can do this; the functions of workers return what they change")

func (j *job) Create(ctx context.Context, spec parameters.Spec) (*parameters.Variable, bool, error) {
	if j.coordinator == nil {
		return nil, false, errNotCoordinator
	}
	v, created, err := j.client.create(ctx, j.coordinator.term, spec)
	if err != nil || !created || spec.Value == nil || spec.Dynamic {
		return v, created, err
	}
	value, err := spec.Value()
	if err != nil {
		return nil, false, fmt.Errorf("parameterserver: the first value of variable %s: %w", spec.Name, err)
	}
	return v, true, j.Change(ctx, parameters.Change{Variable: v, Op: parameters.Assign, Values: value})
}

func (j *job) Change(ctx context.Context, changes ...parameters.Change) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	j.coordinator.mu.Lock()
	id, low := j.coordinator.d.Reserve()
	j.coordinator.mu.Unlock()
	err := j.client.push(ctx, id, low, &parameters.Outcome{Changes: changes})
	j.coordinator.mu.Lock()
	j.coordinator.d.Release(id)
	j.coordinator.changed()
	j.coordinator.mu.Unlock()
	return err
}

func (j *job) SetSlots(ctx context.Context, v *parameters.Variable, slots map[string][]float32, steps uint64) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	return j.client.setSlots(ctx, j.coordinator.term, v, slots, steps)
}

func (j *job) SetNote(ctx context.Context, key string, value []byte) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	_, err := j.client.execute(ctx, 0, &protocol.Note{Term: j.coordinator.term, Key: key, Value: value})
	return err
}

func (j *job) Schedule(ctx context.Context, function string, argument []byte, worker int) (parameters.Pending, error) {
	if j.coordinator == nil {
		return nil, errNotCoordinator
	}
	if worker >= len(j.s.workers) {
		return nil, fmt.Errorf("parameterserver: there is no worker:%d; the job has %d", worker, len(j.s.workers))
	}
	return j.coordinator.schedule(ctx, call{function, slices.Clone(argument)}, worker)
}

func (j *job) Join(ctx context.Context) error {
	if j.coordinator == nil {
		return errNotCoordinator
	}
	return j.coordinator.join(ctx)
}

func (j *job) Done() (bool, error) {
	if j.coordinator == nil {
		return false, errNotCoordinator
	}
	return j.coordinator.done()
}

func (j *job) Register(name string, f parameters.Function) {
	if j.worker != nil {
		j.worker.register(name, f)
	}
}

func (j *job) Over(ctx context.Context) error {
	if j.worker == nil {
		return errors.New("parameterserver: the coordinator itself ends the job: call Close")
	}
	return j.worker.waitOver(ctx)
}

func (j *job) Close() error {
	var err error
	if j.coordinator != nil {
		err = j.coordinator.close()
	} else {
		j.worker.close()
	}
	return errors.Join(err, j.client.close())
}

// Run is the main function of a program that all tasks run: parameter servers serve until the job is over, and the
// others run the program with the job, which is closed when it returns. A coordinator that fails ends the job too. If
// the program of a worker returns [parameters.ErrOver], the worker came after the end of the job; that is not an error,
// so Run returns nil.
func Run(ctx context.Context, o Options, program func(ctx context.Context, job parameters.Job) error) error {
	s, err := o.resolve()
	if err != nil {
		return err
	}
	if s.task.Type == cluster.ParameterServer {
		return Serve(ctx, o)
	}
	j, err := Join(ctx, o)
	if err != nil {
		return err
	}
	err = program(ctx, j)
	if !j.Coordinates() && errors.Is(err, parameters.ErrOver) {
		s.Observe(fmt.Sprintf("%v: %v", s.task, err))
		err = nil
	}
	return errors.Join(err, j.Close())
}

// Serve is NewServer and Serve.
func Serve(ctx context.Context, o Options) error {
	server, err := openServer(ctx, o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// broadcast wakes all goroutines that wait for a change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait returns a channel that is closed at the next change.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// Kinds of messages between coordinator and worker.
const (
	helloMessage byte = iota + 1
	assignMessage
	overMessage
	beatMessage
	resultMessage
	viewsMessage
)

// How a run of a closure ended.
const (
	ranWell byte = iota
	ranBadly
	ranElsewhere // it could not be run here: let another worker try
)

// call is a scheduled function call.
type call struct {
	function string
	argument []byte
}

// ClosureError is an error that a function returned on a worker.
type ClosureError struct {
	Function string
	Worker   int
	Text     string
}

// Error returns the text of the function's error.
func (e *ClosureError) Error() string {
	return fmt.Sprintf("parameterserver: the function %q failed on worker:%d: %s", e.Function, e.Worker, e.Text)
}

// beat is the time between heartbeats.
func (s *settings) beat() time.Duration { return max(s.Deadline/10, time.Millisecond) }
