package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembers(t *testing.T) {
	s, err := NewSpec(map[string][]string{Worker: {"a:1", "[::1]:2"}, Chief: {"c:3"}, Evaluator: {"e:4"}, ParameterServer: {"p:5"}})
	require.NoError(t, err)
	members, err := Members(s)
	require.NoError(t, err)
	require.Equal(t, []Member{{Task{Chief, 0}, "c:3"}, {Task{Worker, 0}, "a:1"}, {Task{Worker, 1}, "[::1]:2"}}, members)
	for _, bad := range [][]string{{"a"}, {"a:0"}, {"a:x"}, {":1"}, {"a:1", "a:1"}, {"a:70000"}} {
		s, err := NewSpec(map[string][]string{Worker: bad})
		require.NoError(t, err)
		_, err = Members(s)
		require.Error(t, err, "%q", bad)
	}
	holes, err := NewSparseSpec(map[string]map[int]string{Worker: {0: "a:1", 2: "b:1"}})
	require.NoError(t, err)
	_, err = Members(holes)
	require.ErrorContains(t, err, "indices")
}

func TestSlurmExpansion(t *testing.T) {
	hosts, err := ExpandHostlist("n[1-2],m5,o[3-4,6,7-9],p[08-10]")
	require.NoError(t, err)
	require.Equal(t, strings.Fields("n1 n2 m5 o3 o4 o6 o7 o8 o9 p08 p09 p10"), hosts)
	counts, err := ExpandTasksPerNode("3(x2),2,1")
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 2, 1}, counts)
	for _, bad := range []string{"n[", "n[1-", "n[2-1]", "a,,b", "n[1-2-3]", "n[0-99999999]", "n]1["} {
		_, err := ExpandHostlist(bad)
		require.Error(t, err, bad)
	}
	for _, bad := range []string{"", "3x2", "3(x99999999)", "-1"} {
		_, err := ExpandTasksPerNode(bad)
		require.Error(t, err, bad)
	}
}

// A cluster without GPUs, which TensorFlow's resolver cannot describe.
func TestSlurmWithoutGPUs(t *testing.T) {
	r := &Slurm{Lookup: environment(map[string]string{"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_NODELIST": "n[1-2]",
		"SLURM_STEP_TASKS_PER_NODE": "2,1"}), Setenv: func(string, string) error { return errors.New("not to be called") }}
	s, task, err := Resolve(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"worker":["n1:8888","n1:8889","n2:8888"]}`, s.String())
	require.Equal(t, Task{Worker, 2}, task)
	n, err := r.NumAccelerators()
	require.NoError(t, err)
	require.Equal(t, 0, n["GPU"])

	_, err = (&Slurm{Lookup: environment(nil)}).Spec()
	require.ErrorContains(t, err, "not running inside a Slurm step")
	r.Lookup = environment(map[string]string{"SLURM_PROCID": "x"})
	_, err = r.Spec()
	require.ErrorContains(t, err, "SLURM_PROCID")
}

// What srun sets on clusters of several kinds: names with leading zeros, several racks, uneven tasks, full names, one
// node.
func TestSlurmEnvironments(t *testing.T) {
	for _, c := range []struct {
		nodes, tasks, rank string
		total              int
		want               string
		task               Task
	}{
		{"tux[01-02,10]", "2(x2),1", "4", 5, `{"worker":["tux01:8888","tux01:8889","tux02:8888","tux02:8889","tux10:8888"]}`, Task{Worker, 4}},
		{"rack1-n[1-2],rack2-n7", "1(x3)", "1", 3, `{"worker":["rack1-n1:8888","rack1-n2:8888","rack2-n7:8888"]}`, Task{Worker, 1}},
		{"gpu01.hpc.example.org", "4", "3", 4, `{"worker":["gpu01.hpc.example.org:8888","gpu01.hpc.example.org:8889","gpu01.hpc.example.org:8890","gpu01.hpc.example.org:8891"]}`, Task{Worker, 3}},
		{"nid[000001,000003]", "1,2", "0", 3, `{"worker":["nid000001:8888","nid000003:8888","nid000003:8889"]}`, Task{Worker, 0}},
	} {
		env := map[string]string{
			"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NTASKS": fmt.Sprint(c.total), "SLURM_JOB_NODELIST": c.nodes, "SLURMD_NODENAME": "x", "SLURM_LOCALID": "0",
			"SLURM_PROCID": c.rank, "SLURM_STEP_NUM_TASKS": fmt.Sprint(c.total), "SLURM_STEP_NODELIST": c.nodes, "SLURM_STEP_TASKS_PER_NODE": c.tasks,
		}
		s, task, err := Resolve(&Slurm{Lookup: environment(env)})
		require.NoError(t, err, c.nodes)
		require.JSONEq(t, c.want, s.String())
		require.Equal(t, c.task, task)
		env["SLURM_STEP_NUM_TASKS"] = fmt.Sprint(c.total + 1)
		_, _, err = Resolve(&Slurm{Lookup: environment(env)})
		require.ErrorContains(t, err, "assigned by Slurm")
	}
}

func TestKubernetes(t *testing.T) {
	r := &Kubernetes{Lookup: environment(map[string]string{"HOSTNAME": "train-2", "KERAS_WORKERS": "3", "POD_NAMESPACE": "ml"})}
	s, task, err := Resolve(r)
	require.NoError(t, err)
	require.Equal(t, Task{Worker, 2}, task)
	address, err := s.Address(Task{Worker, 1})
	require.NoError(t, err)
	require.Equal(t, "train-1.train.ml.svc.cluster.local:8470", address)
	master, err := r.Master(Unknown, "")
	require.NoError(t, err)
	require.Equal(t, "grpc://train-2.train.ml.svc.cluster.local:8470", master)

	r = &Kubernetes{Port: 99, Lookup: environment(map[string]string{"POD_NAME": "big-job-ps-0", "KERAS_JOBS": "worker=2, ps=1", "KERAS_SERVICE": "svc"}),
		ReadFile: func(string) ([]byte, error) { return []byte("space\n"), nil }}
	s, task, err = Resolve(r)
	require.NoError(t, err)
	require.Equal(t, Task{ParameterServer, 0}, task)
	require.JSONEq(t, `{"ps":["big-job-ps-0.svc.space.svc.cluster.local:99"],
		"worker":["big-job-worker-0.svc.space.svc.cluster.local:99","big-job-worker-1.svc.space.svc.cluster.local:99"]}`, s.String())

	// An Indexed Job: the pod is called NAME-INDEX-RANDOM, its host NAME-INDEX.
	r = &Kubernetes{Namespace: "n", Lookup: environment(map[string]string{"POD_NAME": "train-1-x7k2p", "JOB_COMPLETION_INDEX": "1", "KERAS_WORKERS": "2"})}
	s, task, err = Resolve(r)
	require.NoError(t, err)
	require.Equal(t, Task{Worker, 1}, task)
	address, err = s.Address(task)
	require.NoError(t, err)
	require.Equal(t, "train-1.train.n.svc.cluster.local:8470", address)

	for name, bad := range map[string]map[string]string{
		"KERAS_JOBS": {"HOSTNAME": "a-1"}, "JOB=NUMBER": {"HOSTNAME": "a-1", "KERAS_JOBS": "worker"},
		"which pod": {"KERAS_WORKERS": "2"}, "StatefulSet": {"KERAS_WORKERS": "2", "HOSTNAME": "laptop"},
		"NAME-JOB-NUMBER": {"KERAS_JOBS": "worker=2,ps=1", "HOSTNAME": "a-1"}, "exceeds": {"KERAS_WORKERS": "2", "HOSTNAME": "a-5", "POD_NAMESPACE": "n"},
	} {
		_, _, err := Resolve(&Kubernetes{Lookup: environment(bad), ReadFile: func(string) ([]byte, error) { return nil, errors.New("none") }})
		require.ErrorContains(t, err, name)
	}
}

// google plays the metadata server and the compute service.
func google(t *testing.T, attributes map[string]string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/computeMetadata/v1/"); ok {
			value, known := attributes[name]
			if !known || r.Header.Get("Metadata-Flavor") != "Google" {
				http.NotFound(w, r)
				return
			}
			_, _ = fmt.Fprint(w, value)
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		answers := map[string]string{
			"/projects/p/zones/z/instanceGroups/g/listInstances?orderBy=name&pageToken=":  `{"items":[{"instance":"https://x/instances/b"}],"nextPageToken":"2"}`,
			"/projects/p/zones/z/instanceGroups/g/listInstances?orderBy=name&pageToken=2": `{"items":[{"instance":"https://x/instances/a"}]}`,
			"/projects/p/zones/z/instances/a":                                             `{"networkInterfaces":[{"networkIP":"10.0.0.1"}]}`,
			"/projects/p/zones/z/instances/b":                                             `{"networkInterfaces":[{"networkIP":"10.0.0.2"}]}`,
		}
		answer, ok := answers[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestGCE(t *testing.T) {
	server := google(t, map[string]string{"instance/service-accounts/default/token": `{"access_token":"secret"}`})
	metadata := Metadata{Host: strings.TrimPrefix(server.URL, "http://")}
	r := &GCE{Project: "p", Zone: "z", InstanceGroup: "g", Index: 1, API: server.URL, Metadata: metadata}
	s, task, err := Resolve(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"worker":["10.0.0.1:8470","10.0.0.2:8470"]}`, s.String())
	require.Equal(t, Task{Worker, 1}, task)
	master, err := r.Master(Unknown, "")
	require.NoError(t, err)
	require.Equal(t, "grpc://10.0.0.2:8470", master)
	r.Token = "wrong"
	_, err = r.Spec()
	require.ErrorContains(t, err, "401")
	r.Token, r.InstanceGroup = "secret", "other"
	_, err = r.Spec()
	require.ErrorContains(t, err, "404")
}

func TestTPU(t *testing.T) {
	server := google(t, map[string]string{
		"instance/attributes/worker-network-endpoints": "unknown:unknown:10.1.0.1,unknown:unknown:10.1.0.2",
		"instance/attributes/agent-worker-number":      "1",
		"instance/attributes/tpu-env":                  "ACCELERATOR_TYPE: 'v4-16'\nWORKER_ID: '1'\n",
	})
	metadata := Metadata{Host: strings.TrimPrefix(server.URL, "http://")}
	r := &TPU{Metadata: metadata, Lookup: environment(nil)}
	s, task, err := Resolve(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"worker":["10.1.0.1:8470","10.1.0.2:8470"]}`, s.String())
	require.Equal(t, Task{Worker, 1}, task)
	n, err := r.NumAccelerators()
	require.NoError(t, err)
	require.Equal(t, 8, n["TPU"])

	r = &TPU{Name: "grpc://10.0.0.2:9000,10.0.0.3", Lookup: environment(nil), Metadata: metadata}
	s, err = r.Spec()
	require.NoError(t, err)
	require.JSONEq(t, `{"worker":["10.0.0.2:9000","10.0.0.3:8470"]}`, s.String())
	master, err := r.Master(Unknown, "")
	require.NoError(t, err)
	require.Equal(t, "grpc://10.0.0.2:9000", master)

	r = &TPU{Lookup: environment(map[string]string{"TPU_WORKER_HOSTNAMES": "h0,h1", "TPU_WORKER_ID": "1", "TPU_ACCELERATOR_TYPE": "v3-32"})}
	s, task, err = Resolve(r)
	require.NoError(t, err)
	require.Equal(t, 2, s.count(Worker))
	require.Equal(t, 1, task.Index)

	r = &TPU{Name: "local", Lookup: environment(nil)}
	s, err = r.Spec()
	require.NoError(t, err)
	require.True(t, s.Empty())

	r = &TPU{Lookup: environment(nil), Metadata: Metadata{Host: strings.TrimPrefix(google(t, nil).URL, "http://")}}
	_, err = r.Spec()
	require.ErrorContains(t, err, "no TPU found")
	_, err = ParseWorkerEndpoints("a:b")
	require.Error(t, err)
}

// A cluster alone does not say which of its tasks this process is.
func TestTaskIsMissing(t *testing.T) {
	for config, want := range map[string]string{
		`{"cluster": {"worker": ["a:1", "b:1"]}}`:                             `received the type "" and no index; expected both`,
		`{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker"}}`: `received the type "worker" and no index; expected both`,
		`{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 1}}`:       `received the type "" and index 1; expected both`,
	} {
		t.Setenv(TFConfigVariable, config)
		_, _, err := Resolve(&TFConfig{})
		require.ErrorContains(t, err, want, config)
	}
}
