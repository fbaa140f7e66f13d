package main

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/monitor"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/monitoring"
)

// restartsVariable tells a worker how often keras launch has restarted it.
const restartsVariable = "GOKERAS_RESTARTS"

// serveMetrics starts to serve metrics if the flags ask for it, and returns the option that makes Fit measure its
// steps. Metrics are also available while the worker waits for the others.
func (f *fitFlags) serveMetrics(c *cobra.Command) (options []keras.FitOption, closeServer func() error, err error) {
	if f.metricsAddress == "" {
		return nil, func() error { return nil }, nil
	}
	task := cluster.Task{Type: cluster.Worker}
	var spec *cluster.Spec
	if f.strategy == "multiworker" || f.strategy == onServers {
		if spec, task, err = cluster.Resolve(&cluster.TFConfig{}); err != nil {
			return nil, nil, err
		}
	}
	address, err := shifted(f.metricsAddress, portOf(spec, task))
	if err != nil {
		return nil, nil, err
	}
	restarts, _ := strconv.Atoi(os.Getenv(restartsVariable)) // 0 where nobody counts
	m := monitor.New(monitor.Options{Task: task.String(), Restarts: restarts})
	server, err := m.Serve(address)
	if err != nil {
		return nil, nil, fmt.Errorf("fit: --metrics-addr: %w", err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "metrics at http://%s/metrics\n", server.Address())
	return []keras.FitOption{keras.Callbacks(monitoring.Steps(m))}, server.Close, nil
}

// portOf returns the offset of a task's port from that of the first task. In a job with parameter servers the workers
// come first, then the servers, then the coordinator.
func portOf(spec *cluster.Spec, task cluster.Task) int {
	servers := 0
	if spec != nil {
		list, _ := spec.JobTasks(cluster.ParameterServer) // none
		servers = len(list)
	}
	if servers == 0 || task.Type == cluster.Worker {
		return task.Index
	}
	workers, _ := spec.JobTasks(cluster.Worker)
	if task.Type == cluster.ParameterServer {
		return len(workers) + task.Index
	}
	return len(workers) + servers
}

// shifted adds the number of a worker to a port, so that workers on one machine have their own.
func shifted(address string, worker int) (string, error) {
	host, text, err := net.SplitHostPort(address)
	port := 0
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 0 && port+worker > 65535 {
		return "", usagef("fit: --metrics-addr %s: expected HOST:PORT or :PORT, with room for the ports of all workers", address)
	}
	if port > 0 {
		port += worker
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
