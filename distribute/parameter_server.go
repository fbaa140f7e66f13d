package distribute

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/distribute/parameters"
)

// ParameterServerStrategy trains with variables on servers: tf.distribute.ParameterServerStrategy. One process is the
// coordinator, workers compute gradients of their own batches, and servers apply each gradient as it arrives. All
// processes run the same program. Package distribute/parameterserver creates the strategy.
//
// Fit needs StepsPerEpoch. Every worker reads its own data: batches are local, and an epoch has StepsPerEpoch batches
// over all workers. Outside Fit a model computes with copies of the variables, which Fit updates at the end of each
// epoch. So the model can predict, and write files that any other strategy can read.
type ParameterServerStrategy struct {
	*local
	job   parameters.Job
	calls atomic.Int64

	companionOnce sync.Once
	companion     any
}

var _ Strategy = (*ParameterServerStrategy)(nil)

// NewParameterServerStrategyOver creates the strategy for a job that has been joined. Computations run on the given
// device, or on the CPU if there is none. Most programs call parameterserver.NewStrategy or Run. The strategy's Close
// closes the job.
func NewParameterServerStrategyOver(job parameters.Job, devices []string) (*ParameterServerStrategy, error) {
	if job == nil {
		return nil, errors.New("distribute: ParameterServerStrategy: the job is nil; call parameterserver.NewStrategy")
	}
	if devices == nil {
		devices = []string{"cpu:0"}
	}
	list, err := parseDevices("ParameterServerStrategy", devices)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("distribute: ParameterServerStrategy: a worker computes on one device, received %v; start more workers instead", devices)
	}
	s, err := newLocal("ParameterServer", list)
	if err != nil {
		return nil, err
	}
	p := &ParameterServerStrategy{local: s, job: job}
	s.is(p)
	return p, nil
}

// Job is the job with its servers.
func (s *ParameterServerStrategy) Job() parameters.Job { return s.job }

// IsCoordinator reports whether this process schedules the work. Only it writes files.
func (s *ParameterServerStrategy) IsCoordinator() bool { return s.job.Coordinates() }

// Worker is the number of this worker, or -1 for the coordinator.
func (s *ParameterServerStrategy) Worker() int { return s.job.Worker() }

// NextCall numbers the calls that all processes make in the same order, from 1.
func (s *ParameterServerStrategy) NextCall() int { return int(s.calls.Add(1)) }

// Companion calls first once per strategy, and returns its result on every call. Package coordinator keeps the
// strategy's one ClusterCoordinator here.
func (s *ParameterServerStrategy) Companion(first func() any) any {
	s.companionOnce.Do(func() { s.companion = first() })
	return s.companion
}

// Close ends the job if this is the coordinator, and leaves it otherwise.
func (s *ParameterServerStrategy) Close() error { return s.job.Close() }

// String names the strategy and the task.
func (s *ParameterServerStrategy) String() string {
	if s.IsCoordinator() {
		return fmt.Sprintf("%s coordinator of %d workers", s.local, s.job.Workers())
	}
	return fmt.Sprintf("%s worker %d of %d", s.local, s.Worker(), s.job.Workers())
}
