package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
)

// sample is what a worker answers to one line.
type sample struct {
	Micros []float64 `json:"micros"` // of each all-reduce
	CPU    float64   `json:"cpu"`    // microseconds of processor time of this worker for each
	Sent   float64   `json:"sent"`   // bytes that this worker wrote to sockets for each; 0: not known
}

// work is a worker of this library, or of the raw exchange: it answers lines until its input ends.
func work(path string) error {
	if strings.Contains(path, ":") {
		return stepWork(path)
	}
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil {
		return err
	}
	stop, err := profile(path)
	if err != nil {
		return err
	}
	defer stop()
	if path == "raw" {
		return rawWork(spec, task)
	}
	g, err := collective.Join(context.Background(), collective.Options{Cluster: spec, Task: task, NoSharedMemory: path == "tcp"})
	if err != nil {
		return err
	}
	tensors := map[int][]float32{}
	err = serve(func(size, count int) (*sample, error) {
		x, ok := tensors[size]
		if !ok {
			x = make([]float32, size/4)
			tensors[size] = x
		}
		s := &sample{}
		before := g.Stats().Sent
		for range count {
			for i := range x {
				x[i] = 1
			}
			if err := g.Barrier(context.Background()); err != nil {
				return nil, err
			}
			begun := time.Now()
			if err := g.AllReduce(context.Background(), collective.Sum, []collective.Tensor{collective.Of(x)}); err != nil {
				return nil, err
			}
			s.Micros = append(s.Micros, micros(time.Since(begun)))
		}
		s.Sent = float64(g.Stats().Sent-before) / float64(count)
		if n := float32(g.Size()); x[0] != n || x[len(x)-1] != n {
			return nil, fmt.Errorf("the sum of ones is %g and %g", x[0], x[len(x)-1])
		}
		return s, nil
	})
	if err != nil {
		return err
	}
	return g.Close()
}

// profile writes a CPU profile of the first worker if BENCH_PROFILE asks for it. The function that it returns ends the
// profile.
func profile(path string) (stop func(), err error) {
	name := os.Getenv("BENCH_PROFILE")
	_, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil || name == "" || task.Index != 0 {
		return func() {}, err
	}
	f, err := os.Create(name + "." + path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile that is cut off shows when it is read
	}, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// serve answers lines "BYTES COUNT" with what measure says.
func serve(measure func(size, count int) (*sample, error)) error {
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var size, count int
		if _, err := fmt.Sscan(in.Text(), &size, &count); err != nil || size < 4 || count < 1 {
			return fmt.Errorf("received %q, expected BYTES COUNT", in.Text())
		}
		before, err := processor()
		if err != nil {
			return err
		}
		s, err := measure(size, count)
		if err != nil {
			return err
		}
		after, err := processor()
		if err != nil {
			return err
		}
		s.CPU = micros(after-before) / float64(count)
		if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
			return err
		}
	}
	return in.Err()
}

// rawWork is the lower bound: it moves what a ring must move, 2(n-1)/n of the tensor to the right and as much from the
// left, over bare TCP connections, without additions or a protocol.
func rawWork(spec *cluster.Spec, task cluster.Task) error {
	members, err := cluster.Members(spec)
	if err != nil {
		return err
	}
	n := len(members)
	l, err := net.Listen("tcp", members[task.Index].Address)
	if err != nil {
		return err
	}
	right, err := dial(members[(task.Index+1)%n].Address)
	if err != nil {
		return err
	}
	left, err := l.Accept()
	if err != nil {
		return err
	}
	var out, in []byte
	err = serve(func(size, count int) (*sample, error) {
		size = size / n * 2 * (n - 1)
		if len(out) < size {
			out, in = make([]byte, size), make([]byte, size)
		}
		s := &sample{Sent: float64(size)}
		for range count {
			if err := exchange(right, left, out[:1], in[:1]); err != nil {
				return nil, err
			}
			begun := time.Now()
			if err := exchange(right, left, out[:size], in[:size]); err != nil {
				return nil, err
			}
			s.Micros = append(s.Micros, micros(time.Since(begun)))
		}
		return s, nil
	})
	if err != nil {
		return err
	}
	return errors.Join(right.Close(), left.Close(), l.Close())
}

// dial waits until the other worker listens.
func dial(address string) (net.Conn, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil || time.Now().After(end) {
			return conn, err
		}
	}
}

// exchange sends out to the right and fills in from the left, both at once if the sockets may not hold all.
func exchange(right, left net.Conn, out, in []byte) error {
	if len(out) <= 64<<10 {
		if _, err := right.Write(out); err != nil {
			return err
		}
		_, err := io.ReadFull(left, in)
		return err
	}
	written := make(chan error, 1)
	go func() {
		_, err := right.Write(out)
		written <- err
	}()
	_, err := io.ReadFull(left, in)
	return errors.Join(err, <-written)
}
