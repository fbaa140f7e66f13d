package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// TFConfigVariable is the environment variable that TFConfig reads.
const TFConfigVariable = "TF_CONFIG"

const maxTFConfig = 16 << 20 // bytes

// TFConfig reads the cluster from the TF_CONFIG environment variable at each call, as TensorFlow does:
//
//	{"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 1}}
//
// Further keys are "rpc_layer" and "session_master"; others are ignored. An unset variable and an object without
// "cluster" mean an empty cluster. The index may be a number or text. Whether task and cluster fit together is checked
// by [Resolve], not here. The zero value is ready for use; fields that are set override what the variable says.
type TFConfig struct {
	Type  string // task type; "": from TF_CONFIG
	Index *int   // task index; nil: from TF_CONFIG
	Layer string // RPC layer; "": from TF_CONFIG
	Env   string // what Environment returns

	// Lookup reads an environment variable; nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
}

// load returns the decoded variable; nil means that no key of it can be present.
func (r *TFConfig) load() (map[string]any, error) {
	lookup := r.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	text, ok := lookup(TFConfigVariable)
	if !ok {
		return nil, nil
	}
	if len(text) > maxTFConfig {
		return nil, fmt.Errorf("cluster: TF_CONFIG has %d bytes; at most %d are read", len(text), maxTFConfig)
	}
	value, err := decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("cluster: TF_CONFIG is %w", err)
	}
	switch value := value.(type) {
	case map[string]any:
		return value, nil
	case []any: // Python's `"cluster" in [1, 2]` is false, so TensorFlow takes a list for an empty configuration
		return nil, nil
	}
	return nil, fmt.Errorf("cluster: TF_CONFIG must be an object with the keys \"cluster\" and \"task\"; received %s", kindOf(value))
}

// Spec returns the cluster.
func (r *TFConfig) Spec() (*Spec, error) {
	config, err := r.load()
	if err != nil {
		return nil, err
	}
	value, ok := config["cluster"]
	if !ok {
		return NewSpec(nil)
	}
	s, err := ParseSpec(value)
	if err != nil {
		return nil, fmt.Errorf("TF_CONFIG: %w", err)
	}
	return s, nil
}

// task returns one key of "task".
func (r *TFConfig) task(key string) (any, bool, error) {
	config, err := r.load()
	if err != nil {
		return nil, false, err
	}
	value, ok := config["task"]
	if !ok {
		return nil, false, nil
	}
	switch task := value.(type) {
	case map[string]any:
		value, ok := task[key]
		return value, ok, nil
	case []any:
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("cluster: \"task\" of TF_CONFIG must be an object with the keys \"type\" and \"index\"; received %s", kindOf(value))
}

// TaskType returns the task's type.
func (r *TFConfig) TaskType() (string, error) {
	if r.Type != "" {
		return r.Type, nil
	}
	value, ok, err := r.task("type")
	if err != nil || !ok {
		return "", err
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	}
	return "", fmt.Errorf("cluster: the task type of TF_CONFIG must be text; received %s", kindOf(value))
}

// TaskIndex returns the task's index. As Python's int() does, it takes text and cuts off a fraction.
func (r *TFConfig) TaskIndex() (int, error) {
	if r.Index != nil {
		return *r.Index, nil
	}
	value, ok, err := r.task("index")
	if err != nil || !ok {
		return NoIndex, err
	}
	switch v := value.(type) {
	case string:
		if index, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && index != NoIndex {
			return index, nil
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<31 {
			return int(f), nil
		}
	}
	return NoIndex, fmt.Errorf("cluster: the task index of TF_CONFIG must be an integer; received %s", kindOf(value))
}

// text returns a key that must be text; null counts as absent.
func (r *TFConfig) text(key string) (string, error) {
	config, err := r.load()
	if err != nil || config[key] == nil {
		return "", err
	}
	text, ok := config[key].(string)
	if !ok {
		return "", fmt.Errorf("cluster: %q of TF_CONFIG must be text; received %s", key, kindOf(config[key]))
	}
	return text, nil
}

// RPCLayer returns the layer, "" when none is given.
func (r *TFConfig) RPCLayer() (string, error) {
	if r.Layer != "" {
		return r.Layer, nil
	}
	return r.text("rpc_layer")
}

// Environment returns Env; TF_CONFIG's own "environment" is ignored, as in TensorFlow.
func (r *TFConfig) Environment() string { return r.Env }

// Master returns "session_master" if TF_CONFIG has it, "" if the cluster has at most one task, else the address of the
// task.
func (r *TFConfig) Master(task Task, rpcLayer string) (string, error) {
	session, err := r.text("session_master")
	if err != nil || session != "" {
		return session, err
	}
	s, err := r.Spec()
	if err != nil {
		return "", err
	}
	if jobs := s.Jobs(); len(jobs) == 0 || len(jobs) == 1 && s.count(jobs[0]) == 1 {
		return "", nil
	}
	task, typeErr := taskOf(r, task)
	if typeErr != nil {
		return "", typeErr
	}
	return urlOf(r, s, task, rpcLayer)
}

// NumAccelerators returns nil: TF_CONFIG does not say.
func (r *TFConfig) NumAccelerators() (map[string]int, error) { return nil, nil }

// FormatTFConfig returns the TF_CONFIG of one task of a cluster, for a launcher to set.
func FormatTFConfig(s *Spec, t Task) (string, error) {
	if !t.Known() {
		return "", errors.New("cluster: TF_CONFIG needs a task with type and index")
	}
	text, err := json.Marshal(map[string]any{"cluster": s, "task": map[string]any{"type": t.Type, "index": t.Index}})
	return string(text), err
}
