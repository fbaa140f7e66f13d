package parameterserver

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/partitioners"
)

// DirectoryVariable names the environment variable with the folder in which servers keep their variables if
// Options.Directory is "".
const DirectoryVariable = "KERAS_PS_DIRECTORY"

// ReplicasVariable names the environment variable with the number of copies of each variable if Options.Replicas is 0.
// keras launch --replicas sets it.
const ReplicasVariable = "KERAS_PS_REPLICAS"

// Options configure a process of a parameter server job. The zero value reads TF_CONFIG. All processes need the same
// Job, Security and timing.
type Options struct {
	// Resolver finds the cluster and this process's task; nil means &cluster.TFConfig{}. There must be at least one
	// "ps" and one "worker", and at most one "chief", which is the coordinator.
	Resolver cluster.Resolver
	// VariablePartitioner decides into how many shards each variable is cut; nil leaves variables whole.
	VariablePartitioner partitioners.Partitioner
	// Placement chooses the server of each shard; nil means partitioners.RoundRobin.
	Placement partitioners.Placement
	// Devices of a worker; nil means the CPU.
	Devices []string

	// Consistency limits how old the values may be from which gradients are computed. The coordinator's setting
	// applies.
	Consistency Consistency
	// InFlight is the number of closures that a worker has at a time, so that it need not wait for the next one; 0
	// means 2.
	InFlight int

	// Job names the job; processes of other jobs are refused. "" means a name derived from the cluster.
	Job string
	// Security is required if an address is not a loopback address.
	Security *collective.Security
	// Listener accepts the connections to this process; if it is nil, the process listens on its address.
	Listener net.Listener

	// Directory is where a server keeps snapshots and a log of updates, so that it restarts with everything that it
	// acknowledged. "" means the task's folder ("ps-0") in the folder that [DirectoryVariable] names; keras launch sets
	// that. Without either, nothing is kept: the variables are lost with the process, and the job ends.
	Directory string
	// LogBytes is the size of the log at which a snapshot replaces it; 0 means 256 MiB, or twice the memory of the
	// variables if that is more.
	LogBytes int64
	// SyncWrites makes every update durable before it is acknowledged. Otherwise acknowledged updates survive the death
	// of the process, but not a crash of the machine.
	SyncWrites bool
	// Replicas is the number of servers that hold each variable, 1 or 2; 0 means the value of [ReplicasVariable], or 1
	// if that is not set. With 2, an update is acknowledged when both servers have it. If one is lost, the other takes
	// over at once; a server that comes back receives a copy again. Copies are in memory: such servers use no
	// Directory, and the loss of both copies ends the job.
	Replicas int
	// MaxBytes is the largest size of the variables and optimizer state on a server; 0 means half of the machine's
	// memory.
	MaxBytes int

	// TableMemory is about how many bytes of each dynamic table a server keeps in memory. Rows that were not used for a
	// while are moved to disk, below Directory or in temporary files. The program must import distribute/tables/disk.
	// 0: all rows are in memory.
	TableMemory int

	// Deadline is the time of silence after which a worker or server counts as lost; 0 means 5 s.
	Deadline time.Duration
	// ServerTimeout is how long to wait for a lost server to come back; 0 means 1 min.
	ServerTimeout time.Duration
	// JoinTimeout is how long to wait for the others at the start, and how long a worker waits for a coordinator at any
	// time; 0 means 5 min. A server waits forever.
	JoinTimeout time.Duration
	// Observe is called when workers and servers are lost or come back, and if no coordinator comes. It must return
	// soon. nil: not reported.
	Observe func(text string)

	version   int  // that this process claims to speak; 0: protocol.Version. For tests
	noSharing bool // messages go over the network between processes of one host too. For tests
}

// Consistency limits how old the values may be from which a gradient is computed. The zero value is asynchronous: no
// limit.
type Consistency struct {
	// Staleness k lets a closure start only after all closures that were scheduled k or more before it have ended. 0:
	// no bound.
	Staleness int
	// Synchronous makes Fit train in rounds of one closure for each worker: their gradients are computed from the same
	// values, and their mean is applied. The result does not depend on which worker computes what, so a run with faults
	// ends with the same bits as one without.
	Synchronous bool
	// Replicas is the number of closures of a round; 0 means the number of workers.
	Replicas int
	// Backups is the number of additional closures that are started in a round. The last results are dropped, so that
	// fast workers do not wait for slow ones. The result then depends on which workers finish first.
	Backups int
}

func (c Consistency) check() error {
	switch {
	case c.Staleness < 0 || c.Replicas < 0 || c.Backups < 0:
		return fmt.Errorf("parameterserver: Consistency{Staleness: %d, Replicas: %d, Backups: %d}: none may be negative", c.Staleness, c.Replicas, c.Backups)
	case !c.Synchronous && (c.Replicas > 0 || c.Backups > 0):
		return errors.New("parameterserver: Consistency: Replicas and Backups are of synchronous training; set Synchronous, or leave them out")
	case c.Synchronous && c.Staleness > 0:
		return errors.New("parameterserver: Consistency: synchronous training has no stale gradients; leave out Staleness or Synchronous")
	}
	return nil
}

// settings are Options with defaults, checked.
type settings struct {
	Options
	spec    *cluster.Spec
	task    cluster.Task
	servers []cluster.Member
	workers []cluster.Member
	job     uint64
	news    news
	scarce  atomic.Bool // there was no descriptor for the newest connection, which was said
}

func (o Options) resolve() (*settings, error) {
	if o.Resolver == nil {
		o.Resolver = &cluster.TFConfig{}
	}
	spec, err := o.Resolver.Spec()
	if err != nil {
		return nil, fmt.Errorf("parameterserver: %w", err)
	}
	if spec.Empty() {
		return nil, errors.New("parameterserver: the cluster is empty; name the tasks of the jobs worker and ps, in TF_CONFIG or with a cluster.Simple")
	}
	s := &settings{Options: o, spec: spec, news: news{began: time.Now()}}
	if s.task, err = s.findTask(); err != nil {
		return nil, err
	}
	if s.servers, err = members(spec, cluster.ParameterServer, "parameter server"); err != nil {
		return nil, err
	}
	if s.workers, err = members(spec, cluster.Worker, "worker"); err != nil {
		return nil, err
	}
	if err := checkAddresses(spec); err != nil {
		return nil, err
	}
	if err := o.Consistency.check(); err != nil {
		return nil, err
	}
	if err := s.resolveReplicas(); err != nil {
		return nil, err
	}
	if s.TableMemory > 0 && s.task.Type == cluster.ParameterServer && !protocol.CanSpill() {
		return nil, fmt.Errorf("parameterserver: Options.TableMemory: %w", protocol.ErrNoSpill)
	}
	if err := s.resolveDefaults(); err != nil {
		return nil, err
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%v", s.Job, s.spec) // hashes do not fail
	if s.Replicas > 1 {
		_, _ = fmt.Fprintf(h, "\x00%d", s.Replicas)
	}
	s.job = h.Sum64()
	return s, nil
}

// resolveReplicas decides where a server keeps its variables: in a folder, or in the memory of two servers.
func (s *settings) resolveReplicas() (err error) {
	named := s.Directory != "" // and not by the environment
	if root := os.Getenv(DirectoryVariable); s.Directory == "" && root != "" && s.task.Type == cluster.ParameterServer {
		s.Directory = filepath.Join(root, fmt.Sprintf("ps-%d", s.task.Index))
	}
	if text := os.Getenv(ReplicasVariable); s.Replicas == 0 && text != "" {
		if s.Replicas, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("parameterserver: the environment variable %s is %q; expected 1 or 2", ReplicasVariable, text)
		}
	}
	switch {
	case s.Replicas < 0 || s.Replicas > 2:
		return fmt.Errorf("parameterserver: Options.Replicas is %d; expected 1 or 2", s.Replicas)
	case s.Replicas == 2 && len(s.servers) < 2:
		return errors.New("parameterserver: Options.Replicas is 2 and there is one parameter server; start at least two")
	case s.Replicas == 2 && (named || s.TableMemory > 0):
		return errors.New("parameterserver: Options.Replicas 2 keeps variables in the memory of two servers; leave out Directory and TableMemory")
	case s.Replicas == 2:
		s.Directory = ""
	}
	return nil
}

// resolveDefaults replaces zero values by defaults.
func (s *settings) resolveDefaults() error {
	defaults(&s.Deadline, 5*time.Second)
	defaults(&s.ServerTimeout, time.Minute)
	defaults(&s.JoinTimeout, 5*time.Minute)
	defaults(&s.InFlight, 2)
	if s.Deadline < 10*time.Millisecond || s.ServerTimeout < 0 || s.JoinTimeout < 0 || s.InFlight < 1 || s.LogBytes < 0 || s.MaxBytes < 0 || s.TableMemory < 0 {
		return fmt.Errorf("parameterserver: Deadline %v must be at least 10ms, InFlight %d at least 1, and ServerTimeout %v, JoinTimeout %v, LogBytes, MaxBytes and TableMemory not negative",
			s.Deadline, s.InFlight, s.ServerTimeout, s.JoinTimeout)
	}
	if s.Placement == nil {
		s.Placement = &partitioners.RoundRobin{}
	}
	if s.Observe == nil {
		s.Observe = func(string) {}
	}
	if s.Consistency.Synchronous && s.Consistency.Replicas == 0 {
		s.Consistency.Replicas = len(s.workers)
	}
	return nil
}

func defaults[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// findTask returns this process's task. A process without a task is the coordinator, as in TensorFlow.
func (s *settings) findTask() (cluster.Task, error) {
	job, err := s.Resolver.TaskType()
	if err != nil {
		return cluster.Unknown, fmt.Errorf("parameterserver: %w", err)
	}
	index, err := s.Resolver.TaskIndex()
	if err != nil {
		return cluster.Unknown, fmt.Errorf("parameterserver: %w", err)
	}
	task := cluster.Task{Type: job, Index: index}
	if job == "" {
		task = cluster.Task{Type: cluster.Chief}
		if s.spec.Has(cluster.Chief) {
			return task, cluster.Validate(s.spec, task)
		}
		return task, cluster.Validate(s.spec, cluster.Unknown)
	}
	if job == cluster.Chief && !s.spec.Has(cluster.Chief) {
		return task, cluster.Validate(s.spec, cluster.Unknown)
	}
	if err := cluster.Validate(s.spec, task); err != nil {
		return task, fmt.Errorf("parameterserver: %w", err)
	}
	return task, nil
}

// members lists the tasks of a job. Addresses of several machines need security.
func members(spec *cluster.Spec, job, what string) ([]cluster.Member, error) {
	if !spec.Has(job) {
		return nil, fmt.Errorf("parameterserver: there must be at least one %s; the cluster %v has no job %q", what, spec, job)
	}
	addresses, err := spec.JobTasks(job)
	if err != nil {
		return nil, fmt.Errorf("parameterserver: %w", err)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("parameterserver: there must be at least one %s; job %q of the cluster is empty", what, job)
	}
	list := make([]cluster.Member, len(addresses))
	for i, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("parameterserver: the address %q of %s:%d is not HOST:PORT", address, job, i)
		}
		list[i] = cluster.Member{Task: cluster.Task{Type: job, Index: i}, Address: address}
	}
	return list, nil
}

// checkAddresses refuses a cluster in which two tasks have the same address: one of them could not open its port.
func checkAddresses(spec *cluster.Spec) error {
	found := map[string]cluster.Task{}
	for _, job := range spec.Jobs() {
		addresses, err := spec.JobTasks(job)
		if err != nil {
			continue // a job whose tasks are not numbered in a row; the ones that matter are refused by members
		}
		for i, address := range addresses {
			task := cluster.Task{Type: job, Index: i}
			if other, twice := found[address]; twice {
				return fmt.Errorf("parameterserver: the cluster has %v and %v at the same address %s; give each task a port of its own", other, task, address)
			}
			found[address] = task
		}
	}
	return nil
}

// checkSecurity refuses addresses that other machines can reach without authentication.
func (s *settings) checkSecurity() error {
	for _, m := range slices.Concat(s.servers, s.workers) {
		if s.Security == nil && !collective.IsLoopback(m.Address) {
			return fmt.Errorf("parameterserver: the address %s of %v is not a loopback address: processes of several machines need Options.Security, "+
				"with certificate files or a shared secret", m.Address, m.Task)
		}
	}
	return nil
}

// checkAccelerators compares the numbers of accelerators that workers report.
func checkAccelerators(counts map[int]int) error {
	first := true
	want, of := 0, 0
	for _, worker := range slices.Sorted(maps.Keys(counts)) {
		if first {
			first, want, of = false, counts[worker], worker
		} else if counts[worker] != want {
			return fmt.Errorf("parameterserver: worker:%d computes on %d devices and worker:%d on %d; all workers need the same number: set Options.Devices alike", of, want, worker, counts[worker])
		}
	}
	return nil
}
