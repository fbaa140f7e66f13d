package cluster

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// The types of tasks that the strategies know.
const (
	Chief           = "chief"     // worker that also saves checkpoints and summaries; at most one
	Worker          = "worker"    // takes part in training
	ParameterServer = "ps"        // holds variables for ParameterServerStrategy
	Evaluator       = "evaluator" // follows checkpoints, takes no part in training; at most one
)

// NoIndex is the index of a task whose index is not known.
const NoIndex = math.MinInt

// Task names one process of a cluster.
type Task struct {
	Type  string // "worker", ...; "" when it is not known
	Index int    // among the tasks of that type; NoIndex when it is not known
}

// Unknown is the task whose type and index are unknown.
var Unknown = Task{Index: NoIndex}

// Known reports whether both type and index are known.
func (t Task) Known() bool { return t.Type != "" && t.Index != NoIndex }

// String is "worker:1".
func (t Task) String() string {
	if t.Index == NoIndex {
		return t.Type + ":?"
	}
	return t.Type + ":" + strconv.Itoa(t.Index)
}

// ParseTask reads what String writes.
func ParseTask(text string) (Task, error) {
	job, number, ok := strings.Cut(text, ":")
	index, err := strconv.Atoi(number)
	if !ok || job == "" || err != nil || index < 0 {
		return Unknown, fmt.Errorf("cluster: %q is not a task; write TYPE:INDEX, for example worker:0", shorten(text))
	}
	return Task{job, index}, nil
}

func validType(name string) bool {
	return name == Chief || name == Worker || name == ParameterServer || name == Evaluator
}

// Validate reports what is wrong with t as a task of s, by TensorFlow's rules: jobs and type must be among chief,
// worker, ps and evaluator; the type must be a job of the cluster, except that an evaluator may stand outside; at most
// one chief and one evaluator; the index must be below the number of tasks (and, which TensorFlow forgets, not below
// 0). An unknown type passes.
func Validate(s *Spec, t Task) error {
	for _, job := range s.Jobs() {
		if !validType(job) {
			return fmt.Errorf("cluster: disallowed task type %q in cluster %v; allowed are chief, worker, evaluator, ps", job, s)
		}
	}
	switch {
	case t.Type != "" && !validType(t.Type):
		return fmt.Errorf("cluster: unrecognized task type %q; valid are chief, worker, evaluator, ps", t.Type)
	case t.Type != "" && !s.Has(t.Type) && t.Type != Evaluator:
		return fmt.Errorf("cluster: task type %q not found in cluster %v", t.Type, s)
	case s.count(Chief) > 1:
		return fmt.Errorf("cluster: there must be at most one chief; the cluster has %d", s.count(Chief))
	case s.count(Evaluator) > 1:
		return fmt.Errorf("cluster: there must be at most one evaluator; the cluster has %d", s.count(Evaluator))
	case s.Has(t.Type) && t.Index != NoIndex && (t.Index < 0 || t.Index >= s.count(t.Type)):
		return fmt.Errorf("cluster: the task index %d exceeds the maximum of job %q, which has %d tasks", t.Index, t.Type, s.count(t.Type))
	case s.Has(t.Type) && t.Index == NoIndex:
		return fmt.Errorf("cluster: a task of type %q needs an index", t.Type)
	}
	return nil
}

// IsChief reports whether t writes checkpoints and summaries: the chief or, if there is none, worker 0. An evaluator is
// its own chief.
func IsChief(s *Spec, t Task) (bool, error) {
	if err := Validate(s, t); err != nil {
		return false, err
	}
	return t.Type == Chief || t.Type == Evaluator || !s.Has(Chief) && t.Type == Worker && t.Index == 0, nil
}

// IDInCluster returns the number of t among the training tasks: the chief is 0, worker i is i plus the number of
// chiefs. An evaluator is numbered among evaluators; a parameter server has no number.
func IDInCluster(s *Spec, t Task) (int, error) {
	if err := Validate(s, t); err != nil {
		return 0, err
	}
	switch t.Type {
	case Chief:
		return 0, nil
	case Worker:
		return t.Index + s.count(Chief), nil
	case Evaluator:
		return t.Index, nil
	}
	return 0, fmt.Errorf("cluster: there is no id for task type %q", t.Type)
}

// WorkerCount returns how many tasks train together with a task of the given type: chief and workers, or the evaluators
// for an evaluator. It is an error for a parameter server.
func WorkerCount(s *Spec, taskType string) (int, error) {
	t := Task{taskType, 0}
	if err := Validate(s, t); err != nil {
		return 0, err
	}
	switch {
	case taskType == Chief || taskType == Worker:
		return s.count(Chief) + s.count(Worker), nil
	case taskType == Evaluator && s.Has(Evaluator):
		return s.count(Evaluator), nil
	case taskType == Evaluator:
		return 0, fmt.Errorf("cluster: the cluster %v has no evaluator to count", s)
	}
	return 0, fmt.Errorf("cluster: tasks of type %q do not train", taskType)
}

// CollectiveLeader names the first task of collectives in TensorFlow's device form, "/job:worker/replica:0/task:0"; it
// is "" for an empty cluster and for an evaluator.
func CollectiveLeader(s *Spec, t Task) (string, error) {
	if s.Empty() {
		return "", nil
	}
	if err := Validate(s, t); err != nil {
		return "", err
	}
	switch {
	case t.Type == Evaluator:
		return "", nil
	case s.Has(Chief):
		return "/job:chief/replica:0/task:0", nil
	case s.Has(Worker):
		return "/job:worker/replica:0/task:0", nil
	}
	return "", fmt.Errorf("cluster: the cluster %v has neither chief nor worker to lead collectives", s)
}

// Member is a training task with its address.
type Member struct {
	Task    Task
	Address string // "host:port"
}

// Members lists the training tasks in the order of [IDInCluster]. Indices with holes, an address that is not HOST:PORT
// and an address used twice are errors, because the members could not talk to each other.
func Members(s *Spec) ([]Member, error) {
	var members []Member
	seen := map[string]Task{}
	for _, job := range []string{Chief, Worker} {
		if !s.Has(job) {
			continue
		}
		if !dense(s.jobs[job]) {
			return nil, fmt.Errorf("cluster: the tasks of job %q do not have the indices 0 to %d: %v", job, s.count(job)-1, s)
		}
		for i := range s.count(job) {
			t, address := Task{job, i}, s.jobs[job][i]
			if err := checkAddress(address); err != nil {
				return nil, fmt.Errorf("cluster: task %v: %w", t, err)
			}
			if other, ok := seen[address]; ok {
				return nil, fmt.Errorf("cluster: tasks %v and %v have the same address %s", other, t, address)
			}
			seen[address] = t
			members = append(members, Member{t, address})
		}
	}
	return members, nil
}

func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the address %q is not HOST:PORT", shorten(address))
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("the address %q has no port between 1 and 65535", shorten(address))
	}
	if host == "" {
		return fmt.Errorf("the address %q has no host", shorten(address))
	}
	return nil
}
