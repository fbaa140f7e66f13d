package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/lastwords"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MultiWorkerOptions configure [NewMultiWorkerMirroredStrategyOver].
type MultiWorkerOptions struct {
	MirroredOptions // of the replicas of this process
	// Group connects the processes; nil means a job of this process alone. Closing the strategy closes it.
	Group WorkerGroup
	// Elastic lets Fit continue when workers are lost; the group must be an [ElasticGroup]. If it is nil, Fit then
	// fails, unless there is a BackupAndRestore callback.
	Elastic *Elastic
	// Implementation says how the replicas of all processes communicate: "RING" is through host memory and the group;
	// "NCCL" is NVIDIA's library, which needs GPUs and libnccl.so.2 on every worker; "" and "AUTO" use NCCL if the
	// devices are GPUs and all workers have the same version of it, otherwise RING.
	Implementation string
	// Timeout is the longest time that devices wait for those of other workers in NCCL; 0 means 10 minutes. The group
	// detects a lost worker sooner.
	Timeout time.Duration
	// Captured lets NCCL take part in captured steps where workers have several GPUs; see [NcclAllReduce]. It must be
	// the same on all workers. Workers with one GPU each capture their steps anyway.
	Captured bool
	// Wire is the type in which float32 values of more than 16 KiB travel between GPUs when they are summed:
	// [ir.BFloat16] or [ir.Float16]; 0 means float32. The sums are computed in float32.
	Wire ir.DType
}

// Check reports options that do not fit together, without creating a strategy.
func (o MultiWorkerOptions) Check() error {
	list, err := o.devices()
	if err != nil {
		return err
	}
	ops, err := checkedOps(o.CrossDeviceOps, list)
	if err == nil {
		_, err = o.meeting(ops, list)
	}
	if err != nil {
		return fmt.Errorf("distribute: MultiWorkerMirroredStrategy: %w", err)
	}
	return nil
}

// Introduction is what a worker tells the others about itself when it joins: its devices, and the source line that
// creates the strategy. Errors about the worker quote it, even after the worker is gone.
func (o MultiWorkerOptions) Introduction() string {
	names := strings.Join(o.Devices, ", ")
	if list, err := o.devices(); err == nil {
		names = (&exec.Placement{Devices: list}).DeviceNames()
	}
	return fmt.Sprintf("on %s, strategy made at %s", names, exec.CallSite())
}

// devices lists the devices of the replicas of this process.
func (o MultiWorkerOptions) devices() ([]kernels.Device, error) {
	list, err := parseDevices("MultiWorkerMirroredStrategy", o.Devices)
	if err != nil {
		return nil, err
	}
	if o.Devices == nil {
		list = accelerators()
	}
	if len(list) == 0 {
		return nil, errors.New("distribute: MultiWorkerMirroredStrategy: the list of devices is empty; name at least one, or none at all to use every accelerator")
	}
	return list, nil
}

// MultiWorkerMirroredStrategy trains one model with several processes ("workers"), usually on several machines, each
// with one or several replicas: tf.distribute.MultiWorkerMirroredStrategy. All run the same program. Every step sums
// the gradients of all replicas, so all hold the same weights. With n replicas on each worker, replica i of the worker
// with rank r has number r·n + i.
//
// With Fit, Evaluate and DistributeDataset every worker reads all of the data and trains on its part of each global
// batch (TensorFlow's AutoShardPolicy DATA), cut by the rule of [Strategy].Split. So k workers compute what one replica
// computes on the joined batch.
//
// All workers must call these, in the same order: Run, Reduce, Gather, passes over distributed datasets,
// [Variable].Value of variables that are synchronized on read, Fit and Evaluate. A worker may do these alone: Predict,
// reading and saving weights, batch logs. With ShardOptimizerState, saving the model with its optimizer (Model.Save) is
// a call that all must make; the chief writes the file.
type MultiWorkerMirroredStrategy struct {
	*local
	elastic elastic
}

var _ Strategy = (*MultiWorkerMirroredStrategy)(nil)

// NewMultiWorkerMirroredStrategyOver creates the strategy over a group that has been joined. Most programs call
// multiworker.NewStrategy, which finds the cluster and joins it.
func NewMultiWorkerMirroredStrategyOver(o MultiWorkerOptions) (*MultiWorkerMirroredStrategy, error) {
	list, err := o.devices()
	if err != nil {
		return nil, err
	}
	s, err := newLocal("MultiWorkerMirrored", list)
	if err != nil {
		return nil, err
	}
	if s.crossOps, err = checkedOps(o.CrossDeviceOps, list); err != nil {
		return nil, fmt.Errorf("distribute: MultiWorkerMirroredStrategy: %w", err)
	}
	if _, own := s.crossOps.(ownWay); own { // workers meet in it, too; o.Wire says how sums travel between them
		s.crossOps = nil
	}
	if err := o.Communication.check(); err != nil {
		return nil, fmt.Errorf("distribute: MultiWorkerMirroredStrategy: %w", err)
	}
	s.at.BytesPerPack, s.at.SameDraws, s.at.ShardOptimizerState = o.Communication.BytesPerPack, o.SameRandomNumbers, o.ShardOptimizerState
	if s.meeting, err = o.meeting(s.crossOps, list); err != nil {
		return nil, fmt.Errorf("distribute: MultiWorkerMirroredStrategy: %w", err)
	}
	if o.ShardOptimizerState && o.Elastic != nil {
		return nil, errors.New("distribute: MultiWorkerMirroredStrategy: ShardOptimizerState and Elastic cannot go together: a lost worker takes its piece of the optimizer's state along; " +
			"leave Elastic out and restart the job from a BackupAndRestore callback, with any number of workers")
	}
	m := &MultiWorkerMirroredStrategy{local: s}
	s.is(m)
	if o.Group == nil || o.Group.Size() == 1 && o.Elastic == nil {
		if s.meeting.library != "" {
			s.crossOps = NcclAllReduce{Captured: o.Captured}
		}
		if o.Group != nil {
			return m, o.Group.Close() // nobody to talk to
		}
		return m, nil
	}
	if _, nccl := s.crossOps.(NcclAllReduce); nccl {
		return nil, errors.Join(errors.New("distribute: MultiWorkerMirroredStrategy: NcclAllReduce combines the replicas of one process; "+
			"leave CrossDeviceOps out and set Communication.Implementation to NCCL, by which those of all workers are combined"), o.Group.Close())
	}
	s.at.Group, m.at.Elastic = o.Group, o.Elastic != nil
	if m.at.Elastic && m.Elastic() == nil {
		return nil, fmt.Errorf("distribute: MultiWorkerMirroredStrategy: Elastic needs a group that can be formed again, received %T", o.Group)
	}
	m.place(o.Group)
	if err := m.meet(context.Background()); err != nil {
		return nil, errors.Join(err, o.Group.Close())
	}
	return m, nil
}

// meeting says how the replicas of several processes communicate.
func (o MultiWorkerOptions) meeting(ops CrossDeviceOps, devices []kernels.Device) (meeting, error) {
	m := meeting{timeout: o.Timeout, narrow: o.Wire, captured: o.Captured}
	switch o.Implementation {
	case "", "AUTO":
	case "RING":
		m.hosted = true
	case kernels.NCCL:
		m.library = kernels.NCCL
		switch gpus, err := haveLibrary(devices, kernels.NCCL); {
		case !gpus:
			return m, fmt.Errorf("the implementation NCCL needs GPUs, the devices are %v; use AUTO or RING", devices)
		case err != nil:
			return m, fmt.Errorf("the implementation NCCL: %w; or use AUTO or RING", err)
		case ops != nil:
			return m, fmt.Errorf("the implementation NCCL and CrossDeviceOps %T cannot go together; leave one of them out", ops)
		}
	default:
		return m, fmt.Errorf("%q is not an implementation; valid are AUTO, RING, NCCL", o.Implementation)
	}
	if o.Wire != ir.Invalid && !o.Wire.IsHalf() {
		return m, fmt.Errorf("sums cannot travel between workers as %v; Wire is bfloat16, float16, or left out", o.Wire)
	}
	if o.Captured && m.hosted {
		return m, errors.New("Captured is about NCCL, and the implementation is RING; use NCCL or AUTO, or leave it out")
	}
	if o.Timeout < 0 {
		return m, fmt.Errorf("Timeout must not be negative, received %v", o.Timeout)
	}
	return m, nil
}

// Rank is the number of this worker, from 0. With [Elastic] it can change during Fit, between two steps; call Rank in
// callbacks or between calls of Fit, not in other goroutines.
func (s *MultiWorkerMirroredStrategy) Rank() int { return s.at.First / len(s.at.Devices) }

// Workers is the number of workers.
func (s *MultiWorkerMirroredStrategy) Workers() int { return s.at.Total / len(s.at.Devices) }

// IsChief reports whether this is the worker with rank 0, which saves checkpoints and writes summaries. If the group
// has ended and no new one has formed, the first of the remaining workers is the chief, so that progress is saved even
// if the chief was lost.
func (s *MultiWorkerMirroredStrategy) IsChief() bool {
	if s.elastic.ended {
		return s.elastic.first
	}
	return s.at.First == 0
}

// String names the strategy, the worker and its devices.
func (s *MultiWorkerMirroredStrategy) String() string {
	return fmt.Sprintf("%s worker %d of %d", s.local, s.Rank(), s.Workers())
}

// Close leaves the group. The others learn that this worker is gone; training cannot continue. If Close is deferred and
// the program panics, they learn of the panic and treat this worker as lost.
func (s *MultiWorkerMirroredStrategy) Close() error {
	if s.at.Group == nil {
		return nil
	}
	if v := recover(); v != nil {
		FailTogether(s, lastwords.Of("distribute: Close", v))
		_ = s.close(s.at.Group)
		panic(v)
	}
	return s.close(s.at.Group)
}

// Communicators connects the local replicas with each other and with those of the other workers: by the devices' own
// means if they have any, otherwise through host memory and the group.
func (s *MultiWorkerMirroredStrategy) Communicators() ([]kernels.Communicator, error) {
	_, ending := s.at.Group.(EndingGroup) // where workers come and go, devices must hear of it
	if s.at.Group != nil && s.crossOps == nil && !s.meeting.hosted && (ending || !s.at.Elastic) {
		if all, err := s.connect(context.Background(), s.at.Group); all != nil || err != nil {
			return all, err
		}
		if s.at.Lockstep {
			return nil, fmt.Errorf("distribute: %v: the replicas run one program together, which those of other processes are not part of; bring the devices of several hosts together with tpu.InitializeSystem and use tpu.NewStrategy", s)
		}
	}
	if s.at.Group == nil {
		return s.local.Communicators()
	}
	inner, err := s.among()
	if err != nil {
		return nil, err
	}
	g := &workerLink{group: s.at.Group}
	out := make([]kernels.Communicator, len(inner))
	for i, c := range inner {
		w := &workerCommunicator{link: g, inner: c, local: i, perWorker: len(inner), first: s.at.First, total: s.at.Total}
		if out[i] = w; len(inner) == 1 {
			out[i] = newOverlapped(w)
		}
	}
	return out, nil
}

// among connects the local replicas for communicators that combine their values with those of other workers: in device
// memory if devices can do that inside a program, otherwise through host memory.
func (s *MultiWorkerMirroredStrategy) among() ([]kernels.Communicator, error) {
	devices := s.at.Devices
	switch {
	case len(devices) == 1:
		return s.local.Communicators()
	case s.crossOps != nil:
		return s.crossOps.communicators(devices, true)
	}
	backend, err := kernels.Lookup(devices[0].Kind)
	if err != nil {
		return nil, err
	}
	all, err := backend.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: devices, Inner: true})
	return beside(all, err, func() ([]kernels.Communicator, error) { return RingAllReduce{}.communicators(devices, true) })
}

// Reduce combines the values of all replicas of all workers; see [Strategy].
func (s *MultiWorkerMirroredStrategy) Reduce(op ReduceOp, value PerReplica, axes ...int) (kernels.Array, error) {
	out, err := reduceValues(op, value, len(s.at.Devices), axes, s.at.Group)
	FailTogether(s, err)
	return out, err
}

// Gather joins the values of all replicas of all workers along axis; see [Strategy].
func (s *MultiWorkerMirroredStrategy) Gather(value PerReplica, axis int) (kernels.Array, error) {
	part, err := gatherValues(value, len(s.at.Devices), axis)
	if err == nil && s.at.Group != nil {
		part, err = gatherOverWorkers(s.at.Group, part, axis)
	}
	FailTogether(s, err)
	return part, err
}

// gatherOverWorkers joins the parts of the workers along axis.
func gatherOverWorkers(g WorkerGroup, part kernels.Array, axis int) (kernels.Array, error) {
	shape := part.Type.Shape
	like := fmt.Sprint(shape[:axis], " ? ", shape[axis+1:])
	call := WorkerCall{Name: fmt.Sprintf("gather %v %s along axis %d", part.Type.DType, like, axis)}
	lengths, err := exec.GatherNumbers(g, call, []int{shape[axis]})
	if err != nil {
		return part, fmt.Errorf("distribute: Gather: %w", err)
	}
	blocks, err := g.AllGather(context.Background(), call, part.Data)
	if err != nil {
		return part, fmt.Errorf("distribute: Gather: %w", err)
	}
	parts := make(PerReplica, len(blocks))
	for rank, data := range blocks {
		t := ir.Type{DType: part.Type.DType, Shape: shape.Clone()}
		t.Shape[axis] = lengths[rank][0]
		if len(data) != t.Bytes() {
			return part, fmt.Errorf("distribute: Gather: worker %d sent %d bytes for %v", rank, len(data), t)
		}
		parts[rank] = kernels.Array{Type: t, Data: data}
	}
	return gatherValues(parts, len(parts), axis)
}

// anyWorker reports whether yes holds on any worker.
func anyWorker(ctx context.Context, g WorkerGroup, yes bool) (bool, error) {
	if g == nil {
		return yes, nil
	}
	flag := []byte{0}
	if yes {
		flag[0] = 1
	}
	a := kernels.Array{Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{1}}, Data: flag}
	err := g.AllReduce(ctx, WorkerCall{Name: "next batch"}, ir.Max, []kernels.Array{a})
	return flag[0] != 0, err
}

// FailTogether tells the other workers that this one has failed and will not make the calls that they wait for, so that
// they fail too instead of waiting. It does nothing if err is nil, if the others already know of it, or if the strategy
// has one process only. Fit, Evaluate, Run, Reduce and Gather call it; a custom loop calls it when code between these
// fails.
func FailTogether(s Strategy, err error) {
	if b := baseOf(s); b != nil {
		b.at.Fail(err)
	}
}

// WorkersOf returns the group that connects the processes of a strategy; nil if there is only this one.
func WorkersOf(s Strategy) WorkerGroup {
	if b := baseOf(s); b != nil {
		return b.at.Group
	}
	return nil
}

// BroadcastVariables gives all workers the values that the variables have on the chief. Variables that are synchronized
// on read keep theirs. All workers must call it with the same variables; with one process it does nothing.
func BroadcastVariables(ctx context.Context, s Strategy, vars Variables) error {
	g := WorkersOf(s)
	if g == nil {
		return nil
	}
	mirrored, values, err := ReceiveVariables(ctx, s, vars, 0)
	if err != nil {
		return fmt.Errorf("distribute: taking over the variables of the chief: %w", err)
	}
	if g.Rank() == 0 {
		return nil
	}
	for i, v := range mirrored {
		if err := v.SetValue(values[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReceiveVariables returns the values that the variables have on the worker root, without those that are synchronized
// on read. It changes no variable. All workers must call it with the same variables.
func ReceiveVariables(ctx context.Context, s Strategy, vars Variables, root int) (mirrored Variables, values []kernels.Array, err error) {
	var shards Variables
	var wholes []kernels.Array
	if i := slices.Index(vars, nil); i >= 0 {
		return nil, nil, fmt.Errorf("distribute: ReceiveVariables: variable %d is nil", i)
	}
	for _, v := range vars {
		if v.Spec().Synchronization == OnRead || v.Size() == 0 {
			continue
		}
		if v.Sharded() { // its pieces lie on all workers
			a, err := v.WholeOn(ctx, root)
			if err != nil {
				return nil, nil, err
			}
			shards, wholes = append(shards, v), append(wholes, a)
			continue
		}
		a, err := v.Value()
		if err != nil {
			return nil, nil, err
		}
		mirrored, values = append(mirrored, v), append(values, a)
	}
	g := WorkersOf(s)
	if g == nil {
		return append(mirrored, shards...), append(values, wholes...), nil
	}
	err = g.Broadcast(ctx, WorkerCall{Name: "variables"}, root, values)
	return append(mirrored, shards...), append(values, wholes...), err
}
