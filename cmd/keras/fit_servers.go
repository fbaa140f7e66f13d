package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/monitor"
	"github.com/gokeras/gokeras/distribute/parameterserver"
)

// onServers is the strategy whose variables are on parameter servers.
const onServers = "parameterserver"

func (f *fitFlags) serverOptions(c *cobra.Command) (parameterserver.Options, error) {
	if f.elastic != "" || f.backup != "" {
		return parameterserver.Options{}, usagef("fit: --elastic and --backup belong to other strategies: under --strategy %s workers come and go, and the servers keep the variables", onServers)
	}
	if f.stepsPerEpoch == 0 {
		return parameterserver.Options{}, usagef("fit: --strategy %s needs --steps-per-epoch, the number of batches of all workers together", onServers)
	}
	security, err := f.security()
	return parameterserver.Options{Devices: f.devices, Security: security, Observe: func(text string) { fmt.Fprintln(c.ErrOrStderr(), text) }}, err
}

// serveVariables is fit on a parameter server: it holds variables until the job is over. It reports whether this
// process is a parameter server.
func (f *fitFlags) serveVariables(c *cobra.Command) (bool, error) {
	if f.strategy != onServers {
		return false, nil
	}
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil || task.Type != cluster.ParameterServer {
		return false, err
	}
	o, err := f.serverOptions(c)
	if err != nil {
		return true, err
	}
	server, err := parameterserver.NewServer(o)
	if err != nil {
		return true, err
	}
	if f.metricsAddress != "" {
		address, err := shifted(f.metricsAddress, portOf(spec, task))
		if err != nil {
			return true, errors.Join(err, server.Close())
		}
		answers, err := monitor.Serve(address, server)
		if err != nil {
			return true, errors.Join(fmt.Errorf("fit: --metrics-addr: %w", err), server.Close())
		}
		defer answers.Close()
		fmt.Fprintf(c.ErrOrStderr(), "metrics at http://%s/metrics\n", answers.Address())
	}
	return true, server.Serve(c.Context())
}

// placeOnServers makes the strategy of the coordinator or of a worker.
func (f *fitFlags) placeOnServers(ctx context.Context, c *cobra.Command) (*distribute.ParameterServerStrategy, error) {
	o, err := f.serverOptions(c)
	if err != nil {
		return nil, err
	}
	return parameterserver.NewStrategy(ctx, o)
}
