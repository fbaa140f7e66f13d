package estimator

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
)

// Role is the role of a process in a job, as in tf.estimator.RunConfig: the chief trains and saves, workers train, and
// the evaluator evaluates checkpoints at the same time.
type Role struct {
	TaskType string // "worker" if there is no cluster
	TaskID   int
	IsChief  bool
	// NumWorkerReplicas counts the chief and the workers, NumPSReplicas the parameter servers; both are 0 for the
	// evaluator, which is not part of the cluster.
	NumWorkerReplicas, NumPSReplicas int
	// GlobalIDInCluster numbers the chief, the workers and the parameter servers; it is -1 for the evaluator.
	GlobalIDInCluster int
	// Master is the address of this task. It is "" if there is no cluster or the cluster has only one task, and for the
	// evaluator.
	Master string
}

const (
	chiefTask     = "chief"
	workerTask    = "worker"
	psTask        = "ps"
	evaluatorTask = "evaluator"
)

// Role returns the role that Cluster gives this process, by TensorFlow's rules: a cluster has exactly one chief, and
// the evaluator is not part of it. If TrainDistribute is a strategy over several processes, there may be no chief; then
// the first worker is the chief. Without a cluster this process is the only worker, or has its rank in the strategy.
func (c RunConfig) Role() (Role, error) {
	alone := Role{TaskType: workerTask, IsChief: true, NumWorkerReplicas: 1}
	if c.Cluster == nil {
		if g := distribute.WorkersOf(c.TrainDistribute); g != nil {
			return Role{TaskType: workerTask, TaskID: g.Rank(), IsChief: g.Rank() == 0, NumWorkerReplicas: g.Size(), GlobalIDInCluster: g.Rank()}, nil
		}
		return alone, nil
	}
	fail := func(format string, args ...any) (Role, error) {
		return Role{}, fmt.Errorf("estimator: RunConfig: "+format, args...)
	}
	together := distribute.WorkersOf(c.TrainDistribute) != nil
	spec, err := c.Cluster.Spec()
	if err != nil {
		return fail("%w", err)
	}
	task, err := taskOf(c.Cluster)
	if err != nil {
		return fail("%w", err)
	}
	switch {
	case spec.Empty() && task.Type != evaluatorTask:
		return alone, nil
	case spec.Empty():
		return evaluatorRole(task), nil
	case task.Type == evaluatorTask && !spec.Has(chiefTask) && task.Index == 0:
		return evaluatorRole(task), nil // beside workers that train together, the first of which is the chief
	case !spec.Has(chiefTask) && !together:
		return fail("If \"cluster\" is set in TF_CONFIG, it must have one \"chief\" node; it has %v", spec)
	}
	if n, err := spec.NumTasks(chiefTask); spec.Has(chiefTask) && (err != nil || n != 1) {
		return fail("The \"cluster\" in TF_CONFIG must have only one \"chief\" node; it has %d", n)
	}
	switch {
	case task.Type == "":
		return fail("If \"cluster\" is set in TF_CONFIG, task type must be set")
	case task.Index == cluster.NoIndex:
		return fail("If \"cluster\" is set in TF_CONFIG, task index must be set")
	case task.Index < 0:
		return fail("Task index must be non-negative number, received %d", task.Index)
	case task.Type == evaluatorTask && task.Index != 0:
		return fail("there is one evaluator, with index 0; received %d", task.Index)
	case task.Type == evaluatorTask:
		return evaluatorRole(task), nil
	case !spec.Has(task.Type):
		return fail("%s is not a valid task_type in the cluster_spec: %v", task.Type, spec)
	}
	return c.roleIn(spec, task)
}

// taskOf reads the task. Unknown parts stay unset.
func taskOf(r cluster.Resolver) (cluster.Task, error) {
	kind, err := r.TaskType()
	if err != nil {
		return cluster.Task{}, err
	}
	index, err := r.TaskIndex()
	return cluster.Task{Type: kind, Index: index}, err
}

func evaluatorRole(t cluster.Task) Role {
	return Role{TaskType: evaluatorTask, TaskID: max(t.Index, 0), GlobalIDInCluster: -1}
}

// roleIn returns the role of a task of the cluster.
func (c RunConfig) roleIn(spec *cluster.Spec, task cluster.Task) (Role, error) {
	count := func(job string) int {
		if !spec.Has(job) {
			return 0
		}
		n, _ := spec.NumTasks(job) // the job exists
		return n
	}
	address, err := c.Cluster.Master(task, "grpc")
	if err != nil {
		return Role{}, fmt.Errorf("estimator: RunConfig: %d is not a valid task_id for task_type %s in the cluster_spec: %v: %w", task.Index, task.Type, spec, err)
	}
	role := Role{TaskType: task.Type, TaskID: task.Index, IsChief: task.Type == chiefTask, NumWorkerReplicas: count(chiefTask) + count(workerTask),
		NumPSReplicas: count(psTask), GlobalIDInCluster: task.Index, Master: address}
	if !spec.Has(chiefTask) {
		role.IsChief = task == cluster.Task{Type: workerTask}
	}
	switch task.Type {
	case chiefTask:
	case workerTask:
		role.GlobalIDInCluster += count(chiefTask)
	case psTask:
		role.GlobalIDInCluster += count(chiefTask) + count(workerTask)
	default:
		return Role{}, fmt.Errorf("estimator: RunConfig: %s is not a valid task_type; expected chief, worker, ps or evaluator", task.Type)
	}
	return role, nil
}

// errServer is the error for a parameter server.
var errServer = errors.New("estimator: TrainAndEvaluate: this is a parameter server; let it run parameterserver.RunStrategy, which serves, and give the strategy of the others as TrainDistribute")
