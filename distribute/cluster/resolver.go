package cluster

import (
	"errors"
	"fmt"
	"maps"
)

// Resolver determines the cluster and this process's task in it.
type Resolver interface {
	// Spec returns the cluster; an empty one means that the program runs alone.
	Spec() (*Spec, error)
	// TaskType returns the type of this process's task, or "" when it is not known.
	TaskType() (string, error)
	// TaskIndex returns the index of this process's task, or NoIndex when it is not known.
	TaskIndex() (int, error)
	// RPCLayer returns the protocol prefix of addresses, such as "grpc", or "".
	RPCLayer() (string, error)
	// Environment returns a text that names the environment, usually "".
	Environment() string
	// Master returns the address at which a task is reached, [RPCLAYER://]HOST:PORT. Unknown parts of the task and an
	// empty layer stand for the resolver's own.
	Master(task Task, rpcLayer string) (string, error)
	// NumAccelerators returns the number of accelerators of this task by kind ("GPU", "TPU"), or nil when it is not
	// known.
	NumAccelerators() (map[string]int, error)
}

// Resolve asks a resolver for the cluster and this process's task, and checks them by the rules of [Validate]. A
// cluster without a task is an error; an empty cluster comes back with an Unknown task.
func Resolve(r Resolver) (*Spec, Task, error) {
	if r == nil {
		return nil, Unknown, errors.New("cluster: Resolve: the resolver is nil; make one, as with NewTFConfigResolver")
	}
	s, err := r.Spec()
	if err != nil {
		return nil, Unknown, err
	}
	if s.Empty() {
		return s, Unknown, nil
	}
	t, err := taskOf(r, Unknown)
	if err != nil {
		return nil, Unknown, err
	}
	if !t.Known() {
		index := "no index"
		if t.Index != NoIndex {
			index = fmt.Sprintf("index %d", t.Index)
		}
		return nil, Unknown, fmt.Errorf("cluster: the cluster is %v, but which of its tasks this process is, is not said: received the type %q and %s; expected both, as in \"task\" of TF_CONFIG", s, t.Type, index)
	}
	return s, t, Validate(s, t)
}

// taskOf fills what is unknown in t from r.
func taskOf(r Resolver, t Task) (Task, error) {
	var err error
	if t.Type == "" {
		if t.Type, err = r.TaskType(); err != nil {
			return Unknown, err
		}
	}
	if t.Index == NoIndex {
		t.Index, err = r.TaskIndex()
	}
	return t, err
}

func masterURL(address, rpcLayer string) string {
	if rpcLayer == "" {
		return address
	}
	return rpcLayer + "://" + address
}

// lookup is the Master of most resolvers: "" when the task is not known.
func lookup(r Resolver, t Task, rpcLayer string) (string, error) {
	t, err := taskOf(r, t)
	if err != nil || !t.Known() {
		return "", err
	}
	s, err := r.Spec()
	if err != nil {
		return "", err
	}
	return urlOf(r, s, t, rpcLayer)
}

// urlOf is the address of a task, with the resolver's layer of remote calls where none is given.
func urlOf(r Resolver, s *Spec, t Task, rpcLayer string) (string, error) {
	address, err := s.Address(t)
	if err != nil {
		return "", err
	}
	if rpcLayer == "" {
		if rpcLayer, err = r.RPCLayer(); err != nil {
			return "", err
		}
	}
	return masterURL(address, rpcLayer), nil
}

// Simple is a resolver of given values.
type Simple struct {
	Cluster       *Spec
	MasterAddress string         // what Master returns, with the RPC layer, when it is asked for no task
	Task          *Task          // nil: not known
	Env           string         // what Environment returns
	Accelerators  map[string]int // what NumAccelerators returns
	Layer         string         // RPC layer
}

// Spec returns the cluster given.
func (r *Simple) Spec() (*Spec, error) { return r.Cluster, nil }

// TaskType returns the type given, or "".
func (r *Simple) TaskType() (string, error) {
	if r.Task == nil {
		return "", nil
	}
	return r.Task.Type, nil
}

// TaskIndex returns the index given, or NoIndex.
func (r *Simple) TaskIndex() (int, error) {
	if r.Task == nil {
		return NoIndex, nil
	}
	return r.Task.Index, nil
}

// RPCLayer returns the layer given.
func (r *Simple) RPCLayer() (string, error) { return r.Layer, nil }

// Environment returns the text given.
func (r *Simple) Environment() string { return r.Env }

// Master returns the address of task; without a task it returns MasterAddress, as TensorFlow does: its own task is not
// used.
func (r *Simple) Master(task Task, rpcLayer string) (string, error) {
	if rpcLayer == "" {
		rpcLayer = r.Layer
	}
	if !task.Known() {
		return masterURL(r.MasterAddress, rpcLayer), nil
	}
	address, err := r.Cluster.Address(task)
	if err != nil {
		return "", err
	}
	return masterURL(address, rpcLayer), nil
}

// NumAccelerators returns the numbers given.
func (r *Simple) NumAccelerators() (map[string]int, error) { return maps.Clone(r.Accelerators), nil }

// Union joins the clusters of several resolvers. Jobs of the same name are concatenated in the order of the resolvers;
// if any of them has holes in its indices the tasks are merged by index instead, and an index that occurs twice is an
// error. Task, layer, environment and accelerators are the first resolver's unless Task or Layer are set.
type Union struct {
	Resolvers []Resolver
	Task      *Task
	Layer     string
}

// NewUnion returns the union of at least one resolver.
func NewUnion(resolvers ...Resolver) (*Union, error) {
	if len(resolvers) == 0 {
		return nil, errors.New("cluster: a union needs at least one resolver")
	}
	for i, r := range resolvers {
		if r == nil {
			return nil, fmt.Errorf("cluster: resolver %d of the union is nil", i)
		}
	}
	return &Union{Resolvers: resolvers}, nil
}

func (u *Union) first() (Resolver, error) {
	if len(u.Resolvers) == 0 {
		return nil, errors.New("cluster: a union needs at least one resolver")
	}
	return u.Resolvers[0], nil
}

// Spec returns the joined cluster.
func (u *Union) Spec() (*Spec, error) {
	if _, err := u.first(); err != nil {
		return nil, err
	}
	var specs []*Spec
	byIndex := map[string]bool{}
	for _, r := range u.Resolvers {
		s, err := r.Spec()
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
		for _, job := range s.Jobs() {
			byIndex[job] = byIndex[job] || !dense(s.jobs[job])
		}
	}
	joined := map[string]map[int]string{}
	for _, s := range specs {
		for _, job := range s.Jobs() {
			if joined[job] == nil {
				joined[job] = map[int]string{}
			}
			base := 0
			if !byIndex[job] {
				base = len(joined[job])
			}
			for index, address := range s.jobs[job] {
				if _, taken := joined[job][base+index]; taken {
					return nil, fmt.Errorf("cluster: task %v occurs in more than one of the joined clusters", Task{job, base + index})
				}
				joined[job][base+index] = address
			}
		}
	}
	return NewSparseSpec(joined)
}

// TaskType returns the type of Task, or the first resolver's.
func (u *Union) TaskType() (string, error) {
	if u.Task != nil {
		return u.Task.Type, nil
	}
	r, err := u.first()
	if err != nil {
		return "", err
	}
	return r.TaskType()
}

// TaskIndex returns the index of Task, or the first resolver's.
func (u *Union) TaskIndex() (int, error) {
	if u.Task != nil {
		return u.Task.Index, nil
	}
	r, err := u.first()
	if err != nil {
		return NoIndex, err
	}
	return r.TaskIndex()
}

// RPCLayer returns Layer, or the first resolver's.
func (u *Union) RPCLayer() (string, error) {
	r, err := u.first()
	if u.Layer != "" || err != nil {
		return u.Layer, err
	}
	return r.RPCLayer()
}

// Environment returns the first resolver's.
func (u *Union) Environment() string {
	r, err := u.first()
	if err != nil {
		return ""
	}
	return r.Environment()
}

// Master returns the address of task in the joined cluster; without a task it is the first resolver's Master.
func (u *Union) Master(task Task, rpcLayer string) (string, error) {
	r, err := u.first()
	if err != nil {
		return "", err
	}
	if !task.Known() {
		return r.Master(task, rpcLayer)
	}
	return lookup(u, task, rpcLayer)
}

// NumAccelerators returns the first resolver's.
func (u *Union) NumAccelerators() (map[string]int, error) {
	r, err := u.first()
	if err != nil {
		return nil, err
	}
	return r.NumAccelerators()
}
