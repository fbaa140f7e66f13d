package distribution

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// Processes says which processes take part in a job. For a field that is zero, the environment variable named with it
// is used.
type Processes struct {
	// Addresses are the addresses of all processes, host:port, in the order of their numbers:
	// KERAS_DISTRIBUTION_JOB_ADDRESSES, separated by commas.
	Addresses []string
	// Count is the number of processes: KERAS_DISTRIBUTION_NUM_PROCESSES. Without either it is the number of addresses.
	Count int
	// Number is the number of this process, from 0: KERAS_DISTRIBUTION_PROCESS_ID. If nil and the variable is unset, it
	// is 0 in a job of one process.
	Number *int
}

// Initialize checks what a process was told about the others, and returns the resolver of their cluster, with which
// multiworker.NewStrategy joins them: keras.distribution.initialize. Unlike in Keras, nothing is global, and the
// addresses of all processes are needed, not only the first. A job of one process has an empty cluster.
//
// Meshes consist of the devices of one process, except for [NewDeviceMeshOver] on TPUs, whose hosts
// tpu.InitializeSystem joins.
func Initialize(p Processes) (cluster.Resolver, error) {
	if p.Addresses == nil {
		if text := os.Getenv("KERAS_DISTRIBUTION_JOB_ADDRESSES"); text != "" {
			for address := range strings.SplitSeq(text, ",") {
				p.Addresses = append(p.Addresses, strings.TrimSpace(address))
			}
		}
	}
	var err error
	if p.Count == 0 {
		if p.Count, _, err = numberOf("KERAS_DISTRIBUTION_NUM_PROCESSES"); err != nil {
			return nil, err
		}
	}
	if p.Number == nil {
		n, given, err := numberOf("KERAS_DISTRIBUTION_PROCESS_ID")
		if err != nil {
			return nil, err
		}
		if given {
			p.Number = &n
		}
	}
	if p.Count == 0 {
		p.Count = max(len(p.Addresses), 1)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Count == 1 {
		return &cluster.Simple{}, nil
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: p.Addresses})
	if err != nil {
		return nil, fmt.Errorf("distribution: Initialize: %w", err)
	}
	return &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: *p.Number}}, nil
}

// check reports settings that do not fit together.
func (p *Processes) check() error {
	switch {
	case p.Count < 1:
		return fmt.Errorf("distribution: Initialize: %d processes; expected 1 or more", p.Count)
	case p.Count > 1 && len(p.Addresses) == 0, len(p.Addresses) > 0 && len(p.Addresses) != p.Count:
		return fmt.Errorf("distribution: Initialize: %d addresses %q for %d processes; expected the address of each", len(p.Addresses), p.Addresses, p.Count)
	case p.Count > 1 && p.Number == nil:
		return fmt.Errorf("distribution: Initialize: %d processes, and this one's number is missing; set Number or KERAS_DISTRIBUTION_PROCESS_ID to 0 to %d", p.Count, p.Count-1)
	case p.Number != nil && (*p.Number < 0 || *p.Number >= p.Count):
		return fmt.Errorf("distribution: Initialize: this process has the number %d; expected 0 to %d, of %d processes", *p.Number, p.Count-1, p.Count)
	}
	for i, address := range p.Addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("distribution: Initialize: the address %q of process %d; expected host:port", address, i)
		}
	}
	return nil
}

// numberOf reads a number from an environment variable.
func numberOf(variable string) (n int, given bool, err error) {
	text := os.Getenv(variable)
	if text == "" {
		return 0, false, nil
	}
	if n, err = strconv.Atoi(text); err != nil {
		return 0, false, fmt.Errorf("distribution: Initialize: %s is %q; expected a number", variable, text)
	}
	return n, true, nil
}
