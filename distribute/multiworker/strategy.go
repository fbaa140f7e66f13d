package multiworker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// Options configure [NewStrategy]. The zero value reads TF_CONFIG and runs one replica on each accelerator of an
// imported backend, or one on the CPU if there is none.
type Options struct {
	// Resolver finds the cluster and this process's task; nil means &cluster.TFConfig{}.
	Resolver cluster.Resolver
	// Devices of this worker, one for each replica; nil means every accelerator, or the CPU if there is none. All
	// workers need the same number.
	Devices []string
	// CrossDeviceOps combine values over the replicas of this worker; nil means the backend's own method.
	CrossDeviceOps distribute.CrossDeviceOps
	// SameRandomNumbers makes all replicas draw the same random numbers.
	SameRandomNumbers bool

	// Elastic lets Fit continue when workers are lost, and readmit them when they come back. If it is nil, Fit fails
	// then, unless it has a BackupAndRestore callback, which has the effect of &distribute.Elastic{}.
	Elastic *distribute.Elastic

	// Communication sets the size of packs, the timeout, the implementation, and the type in which sums of gradients
	// travel. NCCL is an error unless every worker has GPUs and the library; AUTO means NCCL if they do, otherwise
	// RING.
	Communication collective.CommunicationOptions
	// Security is required if an address is not a loopback address.
	Security *collective.Security
	// Deadline is the time of silence after which a worker counts as dead; 0 means 5 s.
	Deadline time.Duration
	// JoinTimeout is how long to wait for the others, at the start and when lost workers must return; 0 means 5 min.
	JoinTimeout time.Duration
	// Listener accepts the connections to this worker; if it is nil, the worker listens on its address. Close closes
	// the listener.
	Listener net.Listener
	// NoSharedMemory uses the network even between workers on one host.
	NoSharedMemory bool
	// Observe is called when groups form and end, and about slow workers; see collective.Options.
	Observe func(text string)
}

// NewStrategy joins the cluster, waits until all workers have joined, and returns the strategy. If the cluster is empty
// (no TF_CONFIG) or has one worker, the strategy is for this process alone. For evaluators and parameter servers, which
// take no part, it returns an error. A worker that joins while the others are leaving because the job has ended gets an
// error with distribute.ErrLeft after two deadlines. One that joins after they are gone cannot know that, and waits for
// JoinTimeout.
//
// Close the strategy when training is done.
func NewStrategy(ctx context.Context, o Options) (*distribute.MultiWorkerMirroredStrategy, error) {
	if o.Resolver == nil {
		o.Resolver = &cluster.TFConfig{}
	}
	spec, task, err := cluster.Resolve(o.Resolver)
	if err == nil {
		err = o.Communication.Check()
	}
	members, terms := 0, collective.Options{}
	if err == nil && !spec.Empty() {
		list, failed := cluster.Members(spec)
		members, err = len(list), failed
	}
	if err == nil && o.Elastic != nil && members > 0 {
		err = o.Elastic.Check(members)
		terms.MinMembers, terms.MaxMembers = o.Elastic.Bounds(members)
	}
	m := distribute.MultiWorkerOptions{Elastic: o.Elastic, MirroredOptions: distribute.MirroredOptions{
		Devices: o.Devices, CrossDeviceOps: o.CrossDeviceOps, SameRandomNumbers: o.SameRandomNumbers,
		Communication: distribute.CommunicationOptions{BytesPerPack: o.Communication.BytesPerPack},
	}, Timeout: o.Communication.Timeout, Wire: o.Communication.Wire, Captured: o.Communication.Captured}
	if err == nil {
		implementation, _ := collective.ParseImplementation(string(o.Communication.Implementation)) // Check has looked at it
		m.Implementation = string(implementation)
	}
	if err != nil {
		return nil, fmt.Errorf("multiworker: %w", errors.Join(err, closeListener(o.Listener)))
	}
	terms.About = m.Introduction()
	if wrong := m.Check(); wrong != nil {
		if spec.Empty() || o.Elastic != nil {
			return nil, fmt.Errorf("multiworker: %w", errors.Join(wrong, closeListener(o.Listener)))
		}
		refuse(ctx, o, spec, task, terms, wrong)
		return nil, fmt.Errorf("multiworker: %w", wrong)
	}
	if spec.Empty() {
		if err := closeListener(o.Listener); err != nil {
			return nil, err
		}
		return distribute.NewMultiWorkerMirroredStrategyOver(m)
	}
	g, err := join(ctx, o, spec, task, terms)
	if err != nil {
		return nil, err
	}
	m.Group = newGroup(g, o.Elastic, members, o.Communication.Wire)
	s, err := distribute.NewMultiWorkerMirroredStrategyOver(m)
	if err != nil {
		m.Group.Fail(err)
		_ = m.Group.Close() // the first error is the one to report
		return nil, err
	}
	return s, nil
}

// refuse tells the others, which would wait for it, that this worker cannot take part because its devices or libraries
// are wrong. Workers that do not join within two deadlines find out later, when they miss it. It does not disturb a job
// that is already running or can do without this worker.
func refuse(ctx context.Context, o Options, spec *cluster.Spec, task cluster.Task, terms collective.Options, wrong error) {
	deadline := o.Deadline
	if deadline <= 0 {
		deadline = usualDeadline
	}
	if o.JoinTimeout <= 0 || o.JoinTimeout > 2*deadline {
		o.JoinTimeout = 2 * deadline
	}
	g, err := join(ctx, o, spec, task, terms)
	if err != nil {
		return
	}
	w := newGroup(g, nil, g.Size(), o.Communication.Wire)
	if w.Roster().Source < 0 {
		w.Fail(wrong)
	}
	_ = w.Close() // what is wrong is the error to report
}

const usualDeadline = 5 * time.Second

// join waits for a group of the cluster.
func join(ctx context.Context, o Options, spec *cluster.Spec, task cluster.Task, terms collective.Options) (*collective.Group, error) {
	supervisor.Joining()
	finished := supervisor.OthersFinished()
	if finished && o.JoinTimeout == 0 {
		o.JoinTimeout = lateWait
	}
	g, err := collective.Join(ctx, collective.Options{
		Cluster: spec, Task: task, Deadline: o.Deadline, JoinTimeout: o.JoinTimeout, Timeout: o.Communication.Timeout, Security: o.Security,
		About: terms.About, Listener: o.Listener, NoSharedMemory: o.NoSharedMemory, Observe: o.Observe, MinMembers: terms.MinMembers, MaxMembers: terms.MaxMembers,
		Unheard: func(tasks []cluster.Task) { tellUnheard(spec, tasks) },
	})
	var missing *collective.JoinError
	if errors.Is(err, collective.ErrLeft) || finished && errors.As(err, &missing) {
		return nil, fmt.Errorf("multiworker: %w: %w", err, distribute.ErrLeft)
	}
	if err != nil {
		return nil, fmt.Errorf("multiworker: %w", err)
	}
	return g, nil
}

// lateWait is how long a worker that was restarted after some of the others had finished waits for them.
const lateWait = 5 * time.Second

// tellUnheard reports silent workers to the program that started them, if it listens, so that it can replace a frozen
// one.
func tellUnheard(spec *cluster.Spec, tasks []cluster.Task) {
	var numbers []int
	for _, task := range tasks {
		if number, err := cluster.IDInCluster(spec, task); err == nil {
			numbers = append(numbers, number)
		}
	}
	supervisor.Missing(numbers)
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}
