package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metadata asks Google Cloud's metadata server, which every virtual machine there reaches. The zero value is ready for
// use.
type Metadata struct {
	Host   string        // "": GCE_METADATA_HOST, else GCE_METADATA_IP, else metadata.google.internal
	Client *http.Client  // nil: http.DefaultClient
	Wait   time.Duration // longest wait for an answer; 0: 10 s
}

const maxAnswer = 4 << 20 // bytes of one answer

// Get returns the value at a path below computeMetadata/v1, for example "instance/attributes/tpu-env".
func (m *Metadata) Get(ctx context.Context, at string) (string, error) {
	host := m.Host
	for _, name := range []string{"GCE_METADATA_HOST", "GCE_METADATA_IP"} {
		if host == "" {
			host = os.Getenv(name)
		}
	}
	if host == "" {
		host = "metadata.google.internal"
	}
	text, err := m.do(ctx, http.MethodGet, "http://"+host+"/computeMetadata/v1/"+at, nil, http.Header{"Metadata-Flavor": {"Google"}})
	return string(text), err
}

func (m *Metadata) do(ctx context.Context, method, address string, body []byte, header http.Header) ([]byte, error) {
	wait := m.Wait
	if wait <= 0 {
		wait = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	request.Header = header
	client := m.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	_ = response.Body.Close() // the body was read or is not wanted
	switch {
	case err != nil:
		return nil, fmt.Errorf("cluster: reading %s: %w", address, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("cluster: %s answered %s: %s", address, response.Status, shorten(string(text)))
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("cluster: %s answered with more than %d bytes", address, maxAnswer)
	}
	return text, nil
}

// GCE reads the cluster from an instance group of Google Compute Engine: the internal addresses of its running
// instances, sorted as text, all with the same port. Which of them this process is must be given.
type GCE struct {
	Project       string
	Zone          string
	InstanceGroup string
	Port          int    // 0: 8470
	Type          string // job of the instances; "": worker
	Index         int    // of this process
	Layer         string // RPC layer; "": grpc

	API      string // address of the compute service; "": https://compute.googleapis.com/compute/v1
	Token    string // access token; "": from the metadata server
	Metadata Metadata
}

type instanceList struct {
	Items []struct {
		Instance string `json:"instance"`
	} `json:"items"`
	NextPageToken string `json:"nextPageToken"`
}

type instance struct {
	NetworkInterfaces []struct {
		NetworkIP string `json:"networkIP"`
	} `json:"networkInterfaces"`
}

func (r *GCE) call(ctx context.Context, method, at, token string, body []byte, into any) error {
	api := r.API
	if api == "" {
		api = "https://compute.googleapis.com/compute/v1"
	}
	address := fmt.Sprintf("%s/projects/%s/zones/%s/%s", api, url.PathEscape(r.Project), url.PathEscape(r.Zone), at)
	header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	text, err := r.Metadata.do(ctx, method, address, body, header)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("cluster: the answer of %s: %w", address, err)
	}
	return nil
}

// Spec lists the running instances of the group.
func (r *GCE) Spec() (*Spec, error) {
	ctx := context.Background()
	token := r.Token
	if token == "" {
		text, err := r.Metadata.Get(ctx, "instance/service-accounts/default/token")
		if err != nil {
			return nil, fmt.Errorf("cluster: an access token for the instance group: %w", err)
		}
		var answer struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.AccessToken == "" {
			return nil, fmt.Errorf("cluster: the metadata server gave no access token")
		}
		token = answer.AccessToken
	}
	port := r.Port
	if port == 0 {
		port = 8470
	}
	var addresses []string
	for page := ""; ; {
		var list instanceList
		at := "instanceGroups/" + url.PathEscape(r.InstanceGroup) + "/listInstances?orderBy=name&pageToken=" + url.QueryEscape(page)
		if err := r.call(ctx, http.MethodPost, at, token, []byte(`{"instanceState":"RUNNING"}`), &list); err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			var one instance
			if err := r.call(ctx, http.MethodGet, "instances/"+url.PathEscape(path.Base(item.Instance)), token, nil, &one); err != nil {
				return nil, err
			}
			if len(one.NetworkInterfaces) == 0 || one.NetworkInterfaces[0].NetworkIP == "" {
				return nil, fmt.Errorf("cluster: instance %q has no internal address", shorten(item.Instance))
			}
			addresses = append(addresses, net.JoinHostPort(one.NetworkInterfaces[0].NetworkIP, strconv.Itoa(port)))
		}
		if page = list.NextPageToken; page == "" {
			break
		}
		if len(addresses) > MaxTasks {
			return nil, fmt.Errorf("cluster: instance group %q has more than %d instances", r.InstanceGroup, MaxTasks)
		}
	}
	slices.Sort(addresses)
	taskType, err := r.TaskType()
	if err != nil {
		return nil, err
	}
	return NewSpec(map[string][]string{taskType: addresses})
}

// TaskType returns Type, or "worker".
func (r *GCE) TaskType() (string, error) {
	if r.Type == "" {
		return Worker, nil
	}
	return r.Type, nil
}

// TaskIndex returns Index.
func (r *GCE) TaskIndex() (int, error) { return r.Index, nil }

// RPCLayer returns Layer, or "grpc".
func (r *GCE) RPCLayer() (string, error) { return orGRPC(r.Layer), nil }

// Environment returns "".
func (r *GCE) Environment() string { return "" }

// Master returns the address of a task.
func (r *GCE) Master(task Task, rpcLayer string) (string, error) { return lookup(r, task, rpcLayer) }

// NumAccelerators returns nil: the instance group does not say.
func (r *GCE) NumAccelerators() (map[string]int, error) { return nil, nil }

// TPU finds the hosts of a Cloud TPU. Name is tried first, then the environment, then the metadata server of a TPU
// virtual machine:
//
//   - Name, KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS or TPU_NAME as a list of addresses, "grpc://10.0.0.2:8470,10.0.0.3" (port 8470 if
//     none is given), with TPU_WORKER_ID; "local" is the TPU of this machine and gives an empty cluster;
//   - TPU_WORKER_HOSTNAMES with TPU_WORKER_ID;
//   - the metadata attributes worker-network-endpoints ("name:id:ADDRESS,...") and agent-worker-number, and tpu-env for the
//     accelerator type.
type TPU struct {
	Name     string
	Job      string // "": worker
	Metadata Metadata

	// Lookup reads an environment variable; nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
}

func (r *TPU) env(name string) string {
	lookup := r.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, _ := lookup(name)
	return value
}

func (r *TPU) resolve() (addresses []string, index int, err error) {
	name := r.Name
	for _, variable := range []string{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"} {
		if name == "" {
			name = r.env(variable)
		}
	}
	if name == "local" {
		return nil, 0, nil
	}
	hosts := name
	if !strings.ContainsAny(name, ":,.") {
		hosts = r.env("TPU_WORKER_HOSTNAMES")
	}
	if hosts != "" {
		if addresses, err = ParseTPUEndpoints(hosts); err != nil {
			return nil, 0, err
		}
		id := r.env("TPU_WORKER_ID")
		if index, err = strconv.Atoi(id); id != "" && (err != nil || index < 0 || index >= len(addresses)) {
			return nil, 0, fmt.Errorf("cluster: TPU_WORKER_ID=%q is not the number of one of %d hosts", shorten(id), len(addresses))
		}
		return addresses, index, nil
	}
	ctx := context.Background()
	text, err := r.Metadata.Get(ctx, "instance/attributes/worker-network-endpoints")
	if err != nil {
		return nil, 0, fmt.Errorf("cluster: no TPU found: neither a name, KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_NAME nor TPU_WORKER_HOSTNAMES "+
			"is given, and the metadata server does not know one: %w", err)
	}
	if addresses, err = ParseWorkerEndpoints(text); err != nil {
		return nil, 0, err
	}
	number, err := r.Metadata.Get(ctx, "instance/attributes/agent-worker-number")
	if err != nil {
		return nil, 0, err
	}
	index, err = strconv.Atoi(strings.TrimSpace(number))
	if err != nil || index < 0 || index >= len(addresses) {
		return nil, 0, fmt.Errorf("cluster: the metadata agent-worker-number %q is not the number of one of %d hosts", shorten(number), len(addresses))
	}
	return addresses, index, nil
}

// Spec returns the hosts of the TPU.
func (r *TPU) Spec() (*Spec, error) {
	addresses, _, err := r.resolve()
	if err != nil || len(addresses) == 0 {
		return &Spec{}, err
	}
	job, err := r.TaskType()
	if err != nil {
		return nil, err
	}
	return NewSpec(map[string][]string{job: addresses})
}

// TaskType returns Job, or "worker".
func (r *TPU) TaskType() (string, error) {
	if r.Job == "" {
		return Worker, nil
	}
	return r.Job, nil
}

// TaskIndex returns the number of this host; 0 if only a list of addresses is known, without TPU_WORKER_ID.
func (r *TPU) TaskIndex() (int, error) {
	_, index, err := r.resolve()
	return index, err
}

// RPCLayer returns "grpc".
func (r *TPU) RPCLayer() (string, error) { return "grpc", nil }

// Environment returns "".
func (r *TPU) Environment() string { return "" }

// Master returns the address of a host; "" for the local TPU.
func (r *TPU) Master(task Task, rpcLayer string) (string, error) {
	s, err := r.Spec()
	if err != nil || s.Empty() {
		return "", err
	}
	return lookup(r, task, rpcLayer)
}

// NumAccelerators returns the number of TPU cores of a host by the accelerator type in the environment
// (TPU_ACCELERATOR_TYPE) or in the metadata attribute tpu-env, and nil when neither is known.
func (r *TPU) NumAccelerators() (map[string]int, error) {
	kind := r.env("TPU_ACCELERATOR_TYPE")
	if kind == "" {
		text, err := r.Metadata.Get(context.Background(), "instance/attributes/tpu-env")
		if err != nil {
			return nil, nil // not a TPU virtual machine
		}
		kind = ParseTPUEnv(text)["ACCELERATOR_TYPE"]
	}
	addresses, _, err := r.resolve()
	if err != nil {
		return nil, err
	}
	_, number, _ := strings.Cut(kind, "-")
	cores, err := strconv.Atoi(number)
	if hosts := max(len(addresses), 1); err == nil && cores > 0 && cores%hosts == 0 {
		return map[string]int{"TPU": cores / hosts}, nil
	}
	return nil, fmt.Errorf("cluster: the accelerator type %q does not name a number of cores for %d hosts, as v3-32 does for 4", shorten(kind), max(len(addresses), 1))
}

// ParseTPUEndpoints reads a list of TPU hosts, "grpc://10.0.0.2:8470,10.0.0.3"; the default port is 8470.
func ParseTPUEndpoints(text string) ([]string, error) {
	var addresses []string
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "grpc://")
		if !strings.Contains(part, ":") {
			part += ":8470"
		}
		if err := checkAddress(part); err != nil {
			return nil, fmt.Errorf("cluster: TPU endpoints: %w", err)
		}
		if addresses = append(addresses, part); len(addresses) > MaxTasks {
			return nil, fmt.Errorf("cluster: more than %d TPU endpoints", MaxTasks)
		}
	}
	return addresses, nil
}

// ParseWorkerEndpoints reads the metadata attribute worker-network-endpoints of a TPU virtual machine: entries
// "name:id:ADDRESS", separated by commas, in the order of the hosts. The port is 8470.
func ParseWorkerEndpoints(text string) ([]string, error) {
	var hosts []string
	for _, part := range strings.Split(strings.TrimSpace(text), ",") {
		fields := strings.Split(part, ":")
		if len(fields) < 3 || fields[2] == "" {
			return nil, fmt.Errorf("cluster: %q of worker-network-endpoints is not NAME:ID:ADDRESS", shorten(part))
		}
		hosts = append(hosts, fields[2])
	}
	return ParseTPUEndpoints(strings.Join(hosts, ","))
}

// ParseTPUEnv reads the metadata attribute tpu-env: lines KEY: 'VALUE'. Other lines are ignored.
func ParseTPUEnv(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			values[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), "'")
		}
	}
	return values
}
