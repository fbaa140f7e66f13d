package cluster

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

// vector is one case of testdata/cluster.json.gz: what TensorFlow 2.21 answered.
type vector struct {
	ID       string                     `json:"id"`
	Inputs   map[string]json.RawMessage `json:"inputs"`
	Expected map[string]json.RawMessage `json:"expected"`
}

func vectors(t *testing.T) map[string]vector {
	file := recorded.JSON[struct {
		Cases []vector `json:"cases"`
	}](t, "testdata/cluster.json.gz")
	byID := map[string]vector{}
	for _, c := range file.Cases {
		byID[c.ID] = c
	}
	return byID
}

// isError reports whether TensorFlow raised an error (a hang counts as one).
func isError(raw json.RawMessage) bool {
	var e struct {
		Error string `json:"error"`
	}
	return json.Unmarshal(raw, &e) == nil && e.Error != ""
}

func text(t *testing.T, raw json.RawMessage) string {
	var s *string
	require.NoError(t, json.Unmarshal(raw, &s), "%s", raw)
	if s == nil {
		return ""
	}
	return *s
}

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// checkText compares an answer with TensorFlow's, an error with an error.
func checkText(t *testing.T, what string, want json.RawMessage, got string, err error) {
	if isError(want) {
		require.Error(t, err, "%s: TensorFlow: %s", what, want)
		return
	}
	require.NoError(t, err, what)
	require.Equal(t, text(t, want), got, what)
}

func TestTFConfigVectors(t *testing.T) {
	seen := 0
	for id, c := range vectors(t) {
		raw, ok := c.Inputs["TF_CONFIG"]
		if !ok {
			continue
		}
		seen++
		t.Run(id, func(t *testing.T) {
			values := map[string]string{}
			if string(raw) != "null" {
				values[TFConfigVariable] = text(t, raw)
			}
			r := &TFConfig{Lookup: environment(values)}
			s, err := r.Spec()
			if isError(c.Expected["cluster_spec"]) {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				require.JSONEq(t, string(c.Expected["cluster_spec"]), s.String())
			}
			taskType, err := r.TaskType()
			checkText(t, "type", c.Expected["task_type"], taskType, err)
			index, err := r.TaskIndex()
			switch want := c.Expected["task_id"]; {
			case isError(want):
				require.Error(t, err)
			case string(want) == "null":
				require.NoError(t, err)
				require.Equal(t, NoIndex, index)
			default:
				got, _ := json.Marshal(index)
				require.NoError(t, err)
				require.JSONEq(t, string(want), string(got))
			}
			master, err := r.Master(Unknown, "")
			checkText(t, "master", c.Expected["master"], master, err)
			master, err = r.Master(Task{Worker, 1}, "")
			checkText(t, "master(worker,1)", c.Expected["master(worker,1)"], master, err)
			layer, err := r.RPCLayer()
			checkText(t, "rpc_layer", c.Expected["rpc_layer"], layer, err)
			require.Equal(t, text(t, c.Expected["environment"]), r.Environment())
		})
	}
	require.Equal(t, 30, seen)
}

// recordedHere are the cases with a test each, and recordedElsewhere those that other packages run, since they are
// about what a strategy says.
var (
	recordedHere = map[string]func(t *testing.T, all map[string]vector){
		"tf_config.overrides": overrides, "tf_config.reread": reread, "mwms.bad_cluster": badCluster, "cluster.roles": roles,
		"resolver.union": union, "resolver.simple": simple, "cluster_spec.api": specAPI,
	}
	recordedElsewhere = map[string]string{"cluster.communication_options": "distribute/collective", "pss.bad_cluster": "distribute/parameterserver"}
)

// TestVectors runs the cases that are not one of many alike. Every case of the file is run somewhere.
func TestVectors(t *testing.T) {
	all := vectors(t)
	for id := range all {
		if f := recordedHere[id]; f != nil {
			t.Run(id, func(t *testing.T) { f(t, all) })
			continue
		}
		alike := strings.HasPrefix(id, "tf_config.") || strings.HasPrefix(id, "resolver.slurm.")
		require.True(t, alike || recordedElsewhere[id] != "", "nothing runs %s", id)
	}
	require.Len(t, all, 30+5+len(recordedHere)+len(recordedElsewhere))
}

func overrides(t *testing.T, all map[string]vector) {
	values := map[string]string{TFConfigVariable: text(t, all["tf_config.seed"].Inputs["TF_CONFIG"])}
	want := all["tf_config.overrides"].Expected
	r := &TFConfig{Type: ParameterServer, Index: new(int), Layer: "http", Env: "x", Lookup: environment(values)}
	master, err := r.Master(Unknown, "")
	checkText(t, "master", want["master"], master, err)
	master, err = r.Master(Task{Worker, 1}, "")
	checkText(t, "master(worker,1)", want["master(worker,1)"], master, err)
	require.Equal(t, text(t, want["environment"]), r.Environment())
}

func reread(t *testing.T, all map[string]vector) {
	values := map[string]string{TFConfigVariable: text(t, all["tf_config.seed"].Inputs["TF_CONFIG"])}
	reread, recorded := &TFConfig{Lookup: environment(values)}, all["tf_config.reread"].Expected
	require.Len(t, recorded, 2)
	for _, when := range []string{"before", "after"} {
		index, err := reread.TaskIndex()
		require.NoError(t, err)
		require.JSONEq(t, string(recorded[when]), strconv.Itoa(index), "the variable is read anew: %s", when)
		values[TFConfigVariable] = strings.Replace(values[TFConfigVariable], `"index": 1`, `"index": 2`, 1)
	}
}

// What the strategies say to a bad cluster; where TensorFlow hangs for want of a peer nothing is wrong with the text
// itself.
func badCluster(t *testing.T, all map[string]vector) {
	configs := map[string]string{
		"empty_object":        `{}`,
		"one_worker":          `{"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0}}`,
		"no_task":             `{"cluster":{"worker":["a:1","b:1"]}}`,
		"index_out_of_range":  `{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":7}}`,
		"unknown_type":        `{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"boss","index":0}}`,
		"two_chiefs":          `{"cluster":{"chief":["a:1","b:1"],"worker":["c:1"]},"task":{"type":"chief","index":0}}`,
		"not_json":            `{cluster: nope`,
		"type_not_in_cluster": `{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"chief","index":0}}`,
	}
	expected := all["mwms.bad_cluster"].Expected
	for name, config := range configs {
		require.Contains(t, expected, name)
		_, _, err := Resolve(&TFConfig{Lookup: environment(map[string]string{TFConfigVariable: config})})
		require.Equal(t, isError(expected[name]), err != nil, "%s: %v", name, err)
	}
	negative := `{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":-1}}`
	_, _, err := Resolve(&TFConfig{Lookup: environment(map[string]string{TFConfigVariable: negative})})
	require.ErrorContains(t, err, "-1")
}

func roles(t *testing.T, all map[string]vector) {
	c := all["cluster.roles"]
	checked := 0
	for name, raw := range c.Inputs {
		var sizes map[string]int
		require.NoError(t, json.Unmarshal(raw, &sizes))
		lists := map[string][]string{}
		for job, n := range sizes {
			for i := range n {
				lists[job] = append(lists[job], job+string(rune('0'+i))+":1")
			}
		}
		s, err := NewSpec(lists)
		require.NoError(t, err)
		var tasks map[string]map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(c.Expected[name], &tasks))
		for label, want := range tasks {
			task, err := ParseTask(label)
			require.NoError(t, err)
			compare := func(what string, got any, err error) {
				checked++
				if isError(want[what]) {
					require.Error(t, err, "%s %s %s", name, label, what)
					return
				}
				require.NoError(t, err, "%s %s %s", name, label, what)
				text, _ := json.Marshal(got)
				require.JSONEq(t, string(want[what]), string(text), "%s %s %s", name, label, what)
			}
			chief, err := IsChief(s, task)
			compare("is_chief", chief, err)
			id, err := IDInCluster(s, task)
			compare("id_in_cluster", id, err)
			count, err := WorkerCount(s, task.Type)
			compare("worker_count", count, err)
			leader, err := CollectiveLeader(s, task)
			compare("collective_leader", leader, err)
		}
	}
	require.Equal(t, 3*6*4, checked)
}

func TestSlurmVectors(t *testing.T) {
	seen := 0
	for id, c := range vectors(t) {
		if !strings.HasPrefix(id, "resolver.slurm.") {
			continue
		}
		seen++
		t.Run(id, func(t *testing.T) {
			var values map[string]string
			require.NoError(t, json.Unmarshal(c.Inputs["environment"], &values))
			var arguments struct {
				Jobs         map[string]int `json:"jobs"`
				PortBase     int            `json:"port_base"`
				GPUsPerNode  *int           `json:"gpus_per_node"`
				GPUsPerTask  *int           `json:"gpus_per_task"`
				TasksPerNode int            `json:"tasks_per_node"`
				AutoSetGPU   bool           `json:"auto_set_gpu"`
			}
			require.NoError(t, json.Unmarshal(c.Inputs["arguments"], &arguments))
			r := &Slurm{Jobs: arguments.Jobs, PortBase: arguments.PortBase, GPUsPerNode: arguments.GPUsPerNode,
				GPUsPerTask: arguments.GPUsPerTask, TasksPerNode: arguments.TasksPerNode, KeepGPUs: !arguments.AutoSetGPU,
				Lookup: environment(values), Setenv: func(name, value string) error { values[name] = value; return nil }}
			if _, ok := values["CUDA_VISIBLE_DEVICES"]; !ok {
				values["CUDA_VISIBLE_DEVICES"] = "-1" // as it was when the vectors were made
			}
			s, task, err := Resolve(r)
			if len(c.Expected["error"]) > 0 {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, string(c.Expected["cluster"]), s.String())
			got, _ := json.Marshal([]any{task.Type, task.Index})
			require.JSONEq(t, string(c.Expected["task"]), string(got))
			master, err := r.Master(Unknown, "")
			checkText(t, "master", c.Expected["master"], master, err)
			require.Equal(t, text(t, c.Expected["gpus"]), values["CUDA_VISIBLE_DEVICES"])
		})
	}
	require.Equal(t, 5, seen)
}

func union(t *testing.T, all map[string]vector) {
	c := all["resolver.union"]
	resolver := func(name string) Resolver {
		var s Spec
		require.NoError(t, json.Unmarshal(c.Inputs[name], &s))
		return &Simple{Cluster: &s, Task: &Task{Worker, 0}}
	}
	join := func(names ...string) (*Spec, error) {
		var list []Resolver
		for _, name := range names {
			list = append(list, resolver(name))
		}
		u, err := NewUnion(list...)
		require.NoError(t, err)
		index, err := u.TaskIndex()
		require.NoError(t, err)
		require.Equal(t, 0, index)
		return u.Spec()
	}
	s, err := join("first", "second")
	require.NoError(t, err)
	require.JSONEq(t, string(c.Expected["lists"]), s.String())
	_, err = join("first", "third")
	require.ErrorContains(t, err, "worker:1")
	s, err = join("first", "fourth")
	require.NoError(t, err)
	require.JSONEq(t, string(c.Expected["map_merge"]), s.String())
	_, err = NewUnion()
	require.Error(t, err)
	_, err = NewUnion(nil)
	require.Error(t, err)
	_, err = (&Union{}).Spec()
	require.Error(t, err)
}

// simpleSpec is the cluster of two cases.
func simpleSpec(t *testing.T) *Spec {
	s, err := NewSpec(map[string][]string{Worker: {"host1:1001", "host2:1002"}, ParameterServer: {"host4:1004"}})
	require.NoError(t, err)
	return s
}

func simple(t *testing.T, all map[string]vector) {
	s, want := simpleSpec(t), all["resolver.simple"].Expected
	r := &Simple{Cluster: s, Task: &Task{Worker, 1}, Layer: "grpc", Accelerators: map[string]int{"GPU": 2}}
	master, err := r.Master(Unknown, "")
	checkText(t, "master", want["master"], master, err)
	master, err = r.Master(Task{Worker, 0}, "")
	checkText(t, "master_worker_0", want["master_worker_0"], master, err)
	master, err = r.Master(Task{Worker, 0}, "http")
	checkText(t, "master_rpc", want["master_rpc"], master, err)
	_, err = r.Master(Task{Worker, 9}, "")
	require.ErrorContains(t, err, `no task with index 9 in job "worker"`)
	n, err := r.NumAccelerators()
	require.NoError(t, err)
	require.Equal(t, map[string]int{"GPU": 2}, n)
}

func specAPI(t *testing.T, all map[string]vector) {
	s, spec := simpleSpec(t), all["cluster_spec.api"].Expected
	require.JSONEq(t, string(spec["as_dict"]), s.String())
	jobs, _ := json.Marshal(s.Jobs())
	require.JSONEq(t, string(spec["jobs"]), string(jobs))
	address, err := s.Address(Task{Worker, 1})
	checkText(t, "task_address", spec["task_address"], address, err)
	_, err = s.Address(Task{"boss", 0})
	require.ErrorContains(t, err, "no such job")
	sparse, err := NewSparseSpec(map[string]map[int]string{Worker: {0: "host1:1001", 5: "host2:1002"}})
	require.NoError(t, err)
	require.JSONEq(t, string(spec["sparse"]), sparse.String())
	require.False(t, s.Equal(sparse))
	require.True(t, (*Spec)(nil).Equal(&Spec{}))
	list, err := sparse.JobTasks(Worker)
	require.NoError(t, err)
	require.Equal(t, []string{"host1:1001", "", "", "", "", "host2:1002"}, list)
	for _, bad := range []string{`3`, `{"worker":[1]}`, `{"worker":{"a":"x:1"}}`, `{"worker":{"-1":"x:1"}}`, `{"worker":{"99999999":"x:1"}}`} {
		var s Spec
		require.Error(t, json.Unmarshal([]byte(bad), &s), bad)
	}
}

func FuzzTFConfig(f *testing.F) {
	f.Add(`{"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":"1"},"rpc_layer":"grpc"}`)
	f.Add(`{"cluster":{"worker":{"3":"a:1"}},"task":{"index":1e400}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		r := &TFConfig{Lookup: environment(map[string]string{TFConfigVariable: text})}
		s, task, err := Resolve(r)
		_, _ = r.Master(Unknown, "") // must not panic
		if err != nil || s.Empty() {
			return
		}
		members, err := Members(s)
		if err == nil && task.Type != ParameterServer && task.Type != Evaluator {
			id, err := IDInCluster(s, task)
			require.NoError(t, err)
			require.Equal(t, members[id].Task, task)
		}
		again, err := FormatTFConfig(s, task)
		require.NoError(t, err)
		s2, task2, err := Resolve(&TFConfig{Lookup: environment(map[string]string{TFConfigVariable: again})})
		require.NoError(t, err)
		require.True(t, s.Equal(s2), "%v %v", s, s2)
		require.Equal(t, task, task2)
	})
}

func FuzzExpandHostlist(f *testing.F) {
	f.Add("n[1-2],m5,o[3-4,6,7-9]", "3(x2),2,1")
	f.Fuzz(func(t *testing.T, hosts, counts string) {
		if list, err := ExpandHostlist(hosts); err == nil && len(list) > MaxTasks+len(hosts) {
			t.Fatal("too many hosts")
		}
		if list, err := ExpandTasksPerNode(counts); err == nil && len(list) > MaxTasks {
			t.Fatal("too many counts")
		}
	})
}
