package cluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Kubernetes derives the cluster from the environment of a pod and the names that a headless service gives to pods,
// without asking the API server: no role or token is needed. Pod i of a StatefulSet (or of an Indexed Job with a
// subdomain) is called NAME-i and has the DNS name
//
//	NAME-i.SERVICE.NAMESPACE.svc.cluster.local
//
// With one job its name is NAME's; with several, the pod set of job J is NAME-J (so pod 1 of the parameter servers of
// "train" is train-ps-1). Fields that are not set come from the environment of the pod:
//
//	KERAS_JOBS                                   worker=3,ps=1 (or KERAS_WORKERS: the number of workers)
//	KERAS_SERVICE                                name of the headless service; default: the pod set's name
//	POD_NAME, else HOSTNAME                      this pod's name, which contains its index
//	POD_NAMESPACE, else the service account's    namespace
//	JOB_COMPLETION_INDEX                         this pod's index in an Indexed Job
type Kubernetes struct {
	Jobs      map[string]int // number of pods of each job
	Name      string         // of the pod sets; "": this pod's name without its number (and job)
	Service   string         // headless service
	Namespace string
	Domain    string // of the cluster; "": cluster.local
	Port      int    // 0: 8470, as in TensorFlow
	Layer     string // RPC layer; "": grpc

	// Lookup reads an environment variable and ReadFile a file; nil are os.LookupEnv and os.ReadFile.
	Lookup   func(name string) (string, bool)
	ReadFile func(path string) ([]byte, error)
}

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (r *Kubernetes) env(names ...string) string {
	lookup := r.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	for _, name := range names {
		if value, ok := lookup(name); ok && value != "" {
			return value
		}
	}
	return ""
}

func (r *Kubernetes) jobs() (map[string]int, error) {
	if r.Jobs != nil {
		return r.Jobs, nil
	}
	text := r.env("KERAS_JOBS")
	if text == "" {
		if text = r.env("KERAS_WORKERS"); text == "" {
			return nil, fmt.Errorf("cluster: neither KERAS_JOBS nor KERAS_WORKERS says how many pods there are; set KERAS_JOBS=worker=3")
		}
		text = Worker + "=" + text
	}
	jobs := map[string]int{}
	for _, part := range strings.Split(text, ",") {
		job, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(number)
		if job == "" || err != nil || n < 1 || n > MaxTasks {
			return nil, fmt.Errorf("cluster: %q is not JOB=NUMBER, for example worker=3", shorten(part))
		}
		jobs[job] = n
	}
	return jobs, nil
}

// pod splits this pod's name into the name of the pod sets, its job and its index.
func (r *Kubernetes) pod(jobs map[string]int) (string, Task, error) {
	full := r.env("POD_NAME", "HOSTNAME")
	if full == "" {
		return "", Unknown, fmt.Errorf("cluster: neither POD_NAME nor HOSTNAME says which pod this is")
	}
	cut := strings.LastIndexByte(full, '-')
	number := full[cut+1:]
	if completion := r.env("JOB_COMPLETION_INDEX"); completion != "" {
		number = completion
		if strings.TrimSuffix(full, "-"+number) == full { // NAME-INDEX-RANDOM
			if inner := strings.LastIndex(full, "-"+number+"-"); inner >= 0 {
				cut = inner
			}
		}
	}
	index, err := strconv.Atoi(number)
	if cut <= 0 || err != nil || index < 0 {
		return "", Unknown, fmt.Errorf("cluster: the pod name %q does not end in a number; use a StatefulSet or an Indexed Job", shorten(full))
	}
	name := full[:cut]
	names := slices.Sorted(maps.Keys(jobs))
	if len(names) == 1 {
		return name, Task{names[0], index}, nil
	}
	for _, job := range names {
		if base, ok := strings.CutSuffix(name, "-"+job); ok && base != "" {
			return base, Task{job, index}, nil
		}
	}
	return "", Unknown, fmt.Errorf("cluster: the pod name %q does not name one of the jobs %q; expected NAME-JOB-NUMBER", shorten(full), names)
}

func (r *Kubernetes) resolve() (*Spec, Task, error) {
	jobs, err := r.jobs()
	if err != nil {
		return nil, Unknown, err
	}
	name, task, err := r.pod(jobs)
	if err != nil {
		return nil, Unknown, err
	}
	if r.Name != "" {
		name = r.Name
	}
	namespace := r.Namespace
	if namespace == "" {
		namespace = r.env("POD_NAMESPACE")
	}
	if namespace == "" {
		read := r.ReadFile
		if read == nil {
			read = os.ReadFile
		}
		text, err := read(namespaceFile)
		if err != nil {
			return nil, Unknown, fmt.Errorf("cluster: POD_NAMESPACE is not set and %s cannot be read: %w", namespaceFile, err)
		}
		namespace = strings.TrimSpace(string(text))
	}
	service := r.Service
	if service == "" {
		if service = r.env("KERAS_SERVICE"); service == "" {
			service = name
		}
	}
	domain, port := r.Domain, r.Port
	if domain == "" {
		domain = "cluster.local"
	}
	if port == 0 {
		port = 8470
	}
	lists := map[string][]string{}
	for job, n := range jobs {
		set := name
		if len(jobs) > 1 {
			set = name + "-" + job
		}
		for i := range n {
			lists[job] = append(lists[job], fmt.Sprintf("%s-%d.%s.%s.svc.%s:%d", set, i, service, namespace, domain, port))
		}
	}
	s, err := NewSpec(lists)
	return s, task, err
}

// Spec returns the cluster.
func (r *Kubernetes) Spec() (*Spec, error) {
	s, _, err := r.resolve()
	return s, err
}

// TaskType returns this pod's job.
func (r *Kubernetes) TaskType() (string, error) {
	_, t, err := r.resolve()
	return t.Type, err
}

// TaskIndex returns this pod's number.
func (r *Kubernetes) TaskIndex() (int, error) {
	_, t, err := r.resolve()
	return t.Index, err
}

// RPCLayer returns Layer, or "grpc".
func (r *Kubernetes) RPCLayer() (string, error) { return orGRPC(r.Layer), nil }

// Environment returns "".
func (r *Kubernetes) Environment() string { return "" }

// Master returns the address of a task.
func (r *Kubernetes) Master(task Task, rpcLayer string) (string, error) {
	return lookup(r, task, rpcLayer)
}

// NumAccelerators returns nil: the environment does not say.
func (r *Kubernetes) NumAccelerators() (map[string]int, error) { return nil, nil }
