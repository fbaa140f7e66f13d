package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/ports"
)

// contestant is one way to reduce, in n processes.
type contestant struct {
	name  string
	ranks []*rank
}

type rank struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   chan string
}

// patience bounds every wait for a worker's line; TensorFlow takes long to start on a busy machine.
const patience = 3 * time.Minute

// start runs n processes of a contestant and waits until all are ready.
func start(name string, n int, commandOf func(rank int) *exec.Cmd) (*contestant, error) {
	c := &contestant{name: name}
	for i := range n {
		cmd := commandOf(i)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if i == 0 && os.Getenv("BENCH_VERBOSE") != "" {
			cmd.Stderr = os.Stderr
		}
		if err := cmd.Start(); err != nil {
			c.kill()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r := &rank{cmd, in, make(chan string, 1)}
		go func() {
			defer close(r.lines)
			text := bufio.NewScanner(out)
			text.Buffer(nil, 64<<20)
			for text.Scan() {
				r.lines <- text.Text()
			}
		}()
		c.ranks = append(c.ranks, r)
	}
	for i, r := range c.ranks {
		for line := ""; line != "ready"; {
			var err error
			if line, err = r.line(); err != nil {
				c.kill()
				return nil, fmt.Errorf("%s, worker %d does not start: %w (BENCH_VERBOSE=1 shows what it says)", name, i, err)
			}
		}
	}
	return c, nil
}

func (r *rank) line() (string, error) {
	select {
	case line, ok := <-r.lines:
		if !ok {
			return "", errors.New("the process ended")
		}
		return line, nil
	case <-time.After(patience):
		return "", errors.New("no answer")
	}
}

// measure reduces count times and returns the measurements of rank 0, with the processor time of all ranks and the mean
// of the bytes that they sent.
func (c *contestant) measure(size, count int) (*sample, error) {
	for _, r := range c.ranks {
		if _, err := fmt.Fprintln(r.in, size, count); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	var result sample
	for i, r := range c.ranks {
		line, err := r.line()
		if err != nil {
			return nil, fmt.Errorf("%s, worker %d: %w", c.name, i, err)
		}
		var s sample
		if err := json.Unmarshal([]byte(line), &s); err != nil || len(s.Micros) == 0 {
			return nil, fmt.Errorf("%s, worker %d: received %q: %w", c.name, i, line, err)
		}
		if i == 0 {
			result.Micros = s.Micros
		}
		result.CPU += s.CPU
		result.Sent += s.Sent / float64(len(c.ranks))
	}
	return &result, nil
}

// stop ends the processes as they expect it.
func (c *contestant) stop() {
	for _, r := range c.ranks {
		_ = r.in.Close() // the process may be gone already
	}
	timer := time.AfterFunc(10*time.Second, c.kill)
	for _, r := range c.ranks {
		_ = r.command.Wait() // its measurements are in
	}
	timer.Stop()
}

func (c *contestant) kill() {
	for _, r := range c.ranks {
		_ = r.command.Process.Kill() // it may have ended
	}
}

// attempts to start a contestant: between the choice of a free port and its use another program may take it.
const attempts = 3

func launch(name string, n int, peers string) (c *contestant, err error) {
	for range attempts {
		if c, err = tryLaunch(name, n, peers); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// tryLaunch starts the contestant of a name with n workers, or returns nil if its Python is not there. "tcp@PROGRAM" is
// the contestant of another build.
func tryLaunch(name string, n int, peers string) (*contestant, error) {
	list, err := ports.Free(n)
	if err != nil {
		return nil, err
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: list})
	if err != nil {
		return nil, err
	}
	configs := make([]string, n)
	for i := range n {
		if configs[i], err = cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: i}); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	kind, other, elsewhere := strings.Cut(name, "@")
	if elsewhere {
		self = other
	}
	python := map[string]string{"gloo": os.Getenv("TORCH_PY"), "tensorflow": os.Getenv("TF_PY")}
	script := map[string]string{"gloo": "allreduce_torch.py", "tensorflow": "allreduce_tensorflow.py"}
	framework, training, _ := strings.Cut(kind, ":")
	if training != "" {
		script = map[string]string{"tensorflow": "steps_tensorflow.py"}
	}
	if binary, ok := python[framework]; ok && binary == "" {
		return nil, nil
	}
	return start(name, n, func(i int) *exec.Cmd {
		cmd := exec.Command(self, "-worker", kind)
		if script[framework] != "" {
			cmd = exec.Command(python[framework], filepath.Join(peers, script[framework]), training)
		}
		cmd.Env = append(os.Environ(), cluster.TFConfigVariable+"="+configs[i], "GOMAXPROCS="+strconv.Itoa(max(runtime.NumCPU()/n, 1))) // as keras launch sets it
		if name == "gloo" {
			_, port, _ := net.SplitHostPort(list[0]) // it is one of ours
			cmd.Env = append(cmd.Env, "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port, fmt.Sprintf("RANK=%d", i), fmt.Sprintf("WORLD_SIZE=%d", n))
		}
		return cmd
	})
}
