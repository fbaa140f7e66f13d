package cluster_test

import (
	"fmt"
	"os"

	"github.com/gokeras/gokeras/distribute/cluster"
)

func ExampleTFConfig() {
	_ = os.Setenv("TF_CONFIG", `{"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222"]}, "task": {"type": "worker", "index": 0}}`)
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	chief, _ := cluster.IsChief(spec, task)
	id, _ := cluster.IDInCluster(spec, task)
	fmt.Println(task, chief, id)
	// Output: worker:0 false 1
}

func ExampleNewSpec() {
	spec, _ := cluster.NewSpec(map[string][]string{"worker": {"host1:2222", "host2:2222"}})
	fmt.Println(spec)
	members, _ := cluster.Members(spec)
	fmt.Println(members)
	// Output:
	// {"worker":["host1:2222","host2:2222"]}
	// [{worker:0 host1:2222} {worker:1 host2:2222}]
}

func ExampleNewUnion() {
	a, _ := cluster.NewSpec(map[string][]string{"worker": {"a:1"}})
	b, _ := cluster.NewSpec(map[string][]string{"worker": {"b:1"}})
	union, _ := cluster.NewUnion(&cluster.Simple{Cluster: a, Task: &cluster.Task{Type: "worker"}}, &cluster.Simple{Cluster: b})
	spec, task, _ := cluster.Resolve(union)
	fmt.Println(spec, task)
	// Output: {"worker":["a:1","b:1"]} worker:0
}

func ExampleKubernetes() {
	pod := map[string]string{"POD_NAME": "train-1", "POD_NAMESPACE": "ml", "KERAS_WORKERS": "2"}
	r := &cluster.Kubernetes{Lookup: func(name string) (string, bool) { value, ok := pod[name]; return value, ok }}
	address, _ := r.Master(cluster.Unknown, "")
	fmt.Println(address)
	// Output: grpc://train-1.train.ml.svc.cluster.local:8470
}

func ExampleSlurm() {
	step := map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
	r := &cluster.Slurm{Lookup: func(name string) (string, bool) { value, ok := step[name]; return value, ok }}
	spec, task, _ := cluster.Resolve(r)
	fmt.Println(spec, task)
	// Output: {"worker":["n1:8888","n2:8888"]} worker:1
}
