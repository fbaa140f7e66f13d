package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

//go:embed peer.py
var peerSource string

// peer is a process that runs Keras's functions on one backend. It answers lines of JSON.
type peer struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

type peers struct{ list []*peer }

func startPeers(python string, wide bool, names ...string) (*peers, error) {
	p := &peers{}
	if python == "" {
		return p, nil
	}
	for _, name := range names {
		c := exec.Command(python, "-c", peerSource)
		xla := ""
		if threads == 1 {
			xla = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 "
		}
		c.Env = append(os.Environ(), "KERAS_BACKEND="+name, fmt.Sprintf("BENCH_THREADS=%d", threads), fmt.Sprintf("OMP_NUM_THREADS=%d", threads), fmt.Sprintf("MKL_NUM_THREADS=%d", threads),
			"TF_CPP_MIN_LOG_LEVEL=3", "JAX_PLATFORMS=cpu", fmt.Sprintf("JAX_ENABLE_X64=%v", wide), "XLA_FLAGS="+xla+os.Getenv("XLA_FLAGS"))
		c.Stderr = io.Discard
		in, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		w := &peer{name, c, in, bufio.NewScanner(out)}
		if answer := w.ask(map[string]any{"hello": true}); !answer.OK {
			return nil, fmt.Errorf("%s cannot start under %s: %s", name, python, answer.Error)
		}
		p.list = append(p.list, w)
	}
	return p, nil
}

type reply struct {
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error"`
}

func (w *peer) ask(question any) (r reply) {
	line, err := json.Marshal(question)
	if err == nil {
		_, err = w.in.Write(append(line, '\n'))
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	if !w.out.Scan() {
		return reply{Error: "the process has ended"}
	}
	if err := json.Unmarshal(w.out.Bytes(), &r); err != nil {
		return reply{Error: err.Error()}
	}
	return r
}

// prepare makes the call known to all peers and returns those that can do it.
func (p *peers) prepare(b benchmark, gradients bool) (ready []string) {
	for _, w := range p.list {
		r := w.ask(map[string]any{"case": b, "gradients": gradients})
		if r.OK {
			ready = append(ready, w.name)
		} else if r.Error != "" {
			fmt.Fprintf(os.Stderr, "%s: %s: %s\n", w.name, b.Name, r.Error)
		}
	}
	return ready
}

func (p *peers) measure(name string) (seconds float64, ok bool) {
	for _, w := range p.list {
		if w.name == name {
			r := w.ask(map[string]any{"measure": budget.Seconds()})
			return r.Seconds, r.OK
		}
	}
	return 0, false
}

func (p *peers) stop() {
	for _, w := range p.list {
		w.in.Close()
		w.command.Wait()
	}
}
