package cluster

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Slurm reads the cluster from the environment of a Slurm job step: SLURM_PROCID, SLURM_STEP_NUM_TASKS,
// SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE. Tasks are laid out over the nodes in the order of their names,
// ports count up from PortBase on each node, and jobs take tasks in the order of their names.
//
// Like TensorFlow's resolver it gives each task its share of the node's GPUs, and on Spec sets CUDA_VISIBLE_DEVICES to
// it. Unlike TensorFlow's it also works where there are no GPUs: then GPUsPerNode and GPUsPerTask stay nil.
type Slurm struct {
	Jobs         map[string]int // tasks of each job; nil: every task is a "worker"
	PortBase     int            // first port on each node; 0: 8888
	GPUsPerNode  *int           // nil: as many as CUDA_VISIBLE_DEVICES lists, none if it is unset
	GPUsPerTask  *int           // nil: GPUsPerNode divided by the largest number of tasks of a node
	TasksPerNode int            // 0: from SLURM_STEP_TASKS_PER_NODE
	NodeTasks    map[string]int // tasks by node name, instead of TasksPerNode
	KeepGPUs     bool           // do not set CUDA_VISIBLE_DEVICES
	Layer        string         // RPC layer; "": grpc

	// Lookup and Setenv read and write environment variables; nil are os.LookupEnv and os.Setenv.
	Lookup func(name string) (string, bool)
	Setenv func(name, value string) error
}

func (r *Slurm) env(name string) (string, error) {
	value, ok := r.lookup(name)
	if !ok {
		return "", fmt.Errorf("cluster: %s not found in the environment; not running inside a Slurm step?", name)
	}
	return value, nil
}

func (r *Slurm) lookup(name string) (string, bool) {
	if r.Lookup != nil {
		return r.Lookup(name)
	}
	return os.LookupEnv(name)
}

func (r *Slurm) number(name string) (int, error) {
	text, err := r.env(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > MaxTasks {
		return 0, fmt.Errorf("cluster: %s=%q is not a number from 0 to %d", name, shorten(text), MaxTasks)
	}
	return n, nil
}

// allocation is the result of combining the environment with the fields of Slurm.
type allocation struct {
	spec        *Spec
	task        Task
	gpus        []string // CUDA_VISIBLE_DEVICES of each task
	gpusPerTask int
	rank        int
}

func (r *Slurm) resolve() (*allocation, error) {
	rank, err := r.number("SLURM_PROCID")
	if err != nil {
		return nil, err
	}
	jobs := r.Jobs
	if jobs == nil {
		n, err := r.number("SLURM_STEP_NUM_TASKS")
		if err != nil {
			return nil, err
		}
		jobs = map[string]int{Worker: n}
	}
	nodes, err := r.nodes()
	if err != nil {
		return nil, err
	}
	most, total := 0, 0
	for _, n := range nodes {
		most, total = max(most, n), total+n
	}
	requested := 0
	for job, n := range jobs {
		if n < 0 {
			return nil, fmt.Errorf("cluster: job %q has %d tasks", job, n)
		}
		requested += n
	}
	perNode, perTask, err := r.gpus(most)
	if err != nil {
		return nil, err
	}
	switch {
	case requested != total:
		return nil, fmt.Errorf("cluster: requested %d tasks but %d were assigned by Slurm", requested, total)
	case rank >= total:
		return nil, fmt.Errorf("cluster: SLURM_PROCID=%d, but the step has %d tasks", rank, total)
	}
	return r.layOut(jobs, nodes, rank, perNode, perTask)
}

func (r *Slurm) layOut(jobs, nodes map[string]int, rank, perNode, perTask int) (*allocation, error) {
	base := r.PortBase
	if base == 0 {
		base = 8888
	}
	a := &allocation{task: Unknown, gpusPerTask: perTask, rank: rank}
	var addresses []string
	for _, host := range slices.Sorted(maps.Keys(nodes)) {
		for i := range nodes[host] {
			addresses = append(addresses, host+":"+strconv.Itoa(base+i))
			ids := make([]string, perTask)
			for g := range ids {
				ids[g] = strconv.Itoa(i*perTask + g)
			}
			a.gpus = append(a.gpus, strings.Join(ids, ","))
		}
	}
	byJob, start := map[string][]string{}, 0
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		end := start + jobs[job]
		byJob[job] = addresses[start:end]
		if start <= rank && rank < end {
			a.task = Task{job, rank - start}
		}
		start = end
	}
	var err error
	a.spec, err = NewSpec(byJob)
	return a, err
}

// nodes returns the number of tasks on each node.
func (r *Slurm) nodes() (map[string]int, error) {
	if r.NodeTasks != nil {
		return r.NodeTasks, nil
	}
	text, err := r.env("SLURM_STEP_NODELIST")
	if err != nil {
		return nil, err
	}
	hosts, err := ExpandHostlist(text)
	if err != nil {
		return nil, err
	}
	nodes := make(map[string]int, len(hosts))
	if r.TasksPerNode > 0 {
		for _, host := range hosts {
			nodes[host] = r.TasksPerNode
		}
		return nodes, nil
	}
	if text, err = r.env("SLURM_STEP_TASKS_PER_NODE"); err != nil {
		return nil, err
	}
	counts, err := ExpandTasksPerNode(text)
	if err != nil {
		return nil, err
	}
	if len(counts) != len(hosts) {
		return nil, fmt.Errorf("cluster: SLURM_STEP_TASKS_PER_NODE=%q is about %d nodes, SLURM_STEP_NODELIST about %d", text, len(counts), len(hosts))
	}
	for i, host := range hosts {
		nodes[host] = counts[i]
	}
	return nodes, nil
}

func (r *Slurm) gpus(most int) (perNode, perTask int, err error) {
	if r.GPUsPerNode != nil {
		perNode = *r.GPUsPerNode
	} else if visible, ok := r.lookup("CUDA_VISIBLE_DEVICES"); ok && visible != "" && visible != "-1" {
		perNode = len(strings.Split(visible, ","))
	}
	if r.GPUsPerTask != nil {
		perTask = *r.GPUsPerTask
		if perTask <= 0 {
			return 0, 0, fmt.Errorf("cluster: GPUsPerTask must be at least 1, not %d; leave GPUsPerNode and GPUsPerTask nil where there are no GPUs", perTask)
		}
	} else if most > 0 {
		perTask = perNode / most
	}
	if most*perTask > perNode {
		return 0, 0, fmt.Errorf("cluster: %d tasks on a node with %d GPUs each are more than its %d GPUs", most, perTask, perNode)
	}
	return perNode, perTask, nil
}

// Spec returns the cluster and, unless KeepGPUs is set or there are no GPUs, sets CUDA_VISIBLE_DEVICES to this task's
// share.
func (r *Slurm) Spec() (*Spec, error) {
	a, err := r.resolve()
	if err != nil {
		return nil, err
	}
	if !r.KeepGPUs && a.gpusPerTask > 0 {
		setenv := r.Setenv
		if setenv == nil {
			setenv = os.Setenv
		}
		if err := setenv("CUDA_VISIBLE_DEVICES", a.gpus[a.rank]); err != nil {
			return nil, fmt.Errorf("cluster: setting CUDA_VISIBLE_DEVICES: %w", err)
		}
	}
	return a.spec, nil
}

// TaskType returns the job that SLURM_PROCID falls in.
func (r *Slurm) TaskType() (string, error) {
	a, err := r.resolve()
	if err != nil {
		return "", err
	}
	return a.task.Type, nil
}

// TaskIndex returns the place of SLURM_PROCID in its job.
func (r *Slurm) TaskIndex() (int, error) {
	a, err := r.resolve()
	if err != nil {
		return NoIndex, err
	}
	return a.task.Index, nil
}

// RPCLayer returns Layer, or "grpc".
func (r *Slurm) RPCLayer() (string, error) { return orGRPC(r.Layer), nil }

func orGRPC(layer string) string {
	if layer == "" {
		return "grpc"
	}
	return layer
}

// Environment returns "".
func (r *Slurm) Environment() string { return "" }

// Master returns the address of a task.
func (r *Slurm) Master(task Task, rpcLayer string) (string, error) { return lookup(r, task, rpcLayer) }

// NumAccelerators returns the GPUs of a task.
func (r *Slurm) NumAccelerators() (map[string]int, error) {
	a, err := r.resolve()
	if err != nil {
		return nil, err
	}
	return map[string]int{"GPU": a.gpusPerTask}, nil
}

var hostPart = regexp.MustCompile(`^([^,[\]]*)(\[([^\]]+)\])?$`)

// ExpandHostlist expands Slurm's short form of a list of hosts: "n[1-2],m5,o[3-4,6]" is n1, n2, m5, o3, o4, o6. Leading
// zeros, order and duplicates are kept.
func ExpandHostlist(text string) ([]string, error) {
	var hosts []string
	for _, part := range splitOutsideBrackets(text) {
		match := hostPart.FindStringSubmatch(part)
		if part == "" || match == nil {
			return nil, fmt.Errorf("cluster: invalid host list %q: part %q", shorten(text), shorten(part))
		}
		if match[3] == "" {
			hosts = append(hosts, match[1])
			continue
		}
		for _, span := range strings.Split(match[3], ",") {
			first, last, isRange := strings.Cut(span, "-")
			if !isRange {
				last = first
			}
			low, err1 := strconv.ParseUint(first, 10, 32)
			high, err2 := strconv.ParseUint(last, 10, 32)
			if err1 != nil || err2 != nil || low > high || high-low >= uint64(MaxTasks-len(hosts)) {
				return nil, fmt.Errorf("cluster: invalid host list %q: range %q", shorten(text), shorten(span))
			}
			for n := low; n <= high; n++ {
				hosts = append(hosts, fmt.Sprintf("%s%0*d", match[1], min(len(first), 20), n))
			}
		}
	}
	return hosts, nil
}

func splitOutsideBrackets(text string) []string {
	var parts []string
	inside, start := false, 0
	for i := range len(text) {
		switch text[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				parts = append(parts, text[start:i])
				start = i + 1
			}
		}
	}
	if start < len(text) || text == "" {
		parts = append(parts, text[start:])
	}
	return parts
}

var tasksPart = regexp.MustCompile(`^(\d+)(\(x(\d+)\))?$`)

// ExpandTasksPerNode expands Slurm's short form of task counts: "3(x2),2,1" is 3, 3, 2, 1.
func ExpandTasksPerNode(text string) ([]int, error) {
	var counts []int
	for _, part := range strings.Split(text, ",") {
		match := tasksPart.FindStringSubmatch(part)
		if match == nil {
			return nil, fmt.Errorf("cluster: invalid tasks-per-node list %q: part %q", shorten(text), shorten(part))
		}
		n, err := strconv.ParseUint(match[1], 10, 16)
		times := uint64(1)
		if err == nil && match[3] != "" {
			times, err = strconv.ParseUint(match[3], 10, 16)
		}
		if err != nil || uint64(len(counts))+times > MaxTasks {
			return nil, fmt.Errorf("cluster: invalid tasks-per-node list %q: part %q", shorten(text), shorten(part))
		}
		for range times {
			counts = append(counts, int(n))
		}
	}
	return counts, nil
}
