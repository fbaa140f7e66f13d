//go:build unix

package collective

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BenchmarkAllReduce measures the all-reduce between processes of this machine. For each size it reports the median
// time, the best, the rate of the tensor's bytes at the median, and what a worker sends on the wire over the tensor's
// size (a ring needs 2(n-1)/n; shared memory sends nothing). "raw" is the bar: two processes that only write the tensor
// to each other over TCP, and add what they read, without any protocol.
func BenchmarkAllReduce(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, path := range []string{"shared", "tcp", "raw"} {
			if path == "raw" && n != 2 {
				continue
			}
			for _, bytes := range []int{4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20} {
				b.Run(fmt.Sprintf("%s/%d/%dKB", path, n, bytes>>10), func(b *testing.B) { benchmarkProcesses(b, n, path, bytes) })
			}
		}
	}
}

func benchmarkProcesses(b *testing.B, n int, path string, bytes int) {
	addresses, err := ports.Free(n)
	require.NoError(b, err)
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(b, err)
	var outputs []*bufio.Scanner
	var commands []*exec.Cmd
	for i := range n {
		text, err := cluster.FormatTFConfig(spec, cluster.Task{Type: "worker", Index: i})
		require.NoError(b, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=bench", "TF_CONFIG="+text, "COLLECTIVE_BENCH_PATH="+path, fmt.Sprintf("COLLECTIVE_BENCH_BYTES=%d", bytes),
			fmt.Sprintf("COLLECTIVE_BENCH_COUNT=%d", b.N))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		outputs, commands = append(outputs, bufio.NewScanner(out)), append(commands, cmd)
	}
	for i, out := range outputs {
		for out.Scan() {
			var median, best, sent float64
			if count, _ := fmt.Sscanf(out.Text(), "result %g %g %g", &median, &best, &sent); count != 3 {
				b.Log(out.Text())
				continue
			}
			if i == 0 {
				b.ReportMetric(median, "ns/op")
				b.ReportMetric(best, "best-ns")
				b.ReportMetric(float64(bytes)/median, "GB/s")
				b.ReportMetric(sent/float64(bytes), "wire/tensor")
			}
		}
		require.NoError(b, commands[i].Wait())
	}
}

func benchWorker() error {
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil {
		return err
	}
	var bytes, count int
	if _, err := fmt.Sscan(os.Getenv("COLLECTIVE_BENCH_BYTES"), &bytes); err != nil {
		return err
	}
	if _, err := fmt.Sscan(os.Getenv("COLLECTIVE_BENCH_COUNT"), &count); err != nil {
		return err
	}
	if os.Getenv("COLLECTIVE_BENCH_PATH") == "raw" {
		return rawExchange(spec, task, bytes, count)
	}
	g, err := Join(context.Background(), Options{Cluster: spec, Task: task, NoSharedMemory: os.Getenv("COLLECTIVE_BENCH_PATH") != "shared"})
	if err != nil {
		return err
	}
	values := make([]float32, bytes/4)
	tensors := []Tensor{Of(values)}
	times := make([]time.Duration, count)
	var sent int64
	for i := range 3 + count {
		if i == 3 {
			sent = g.Stats().Sent
		}
		if err := g.Barrier(context.Background()); err != nil {
			return err
		}
		began := time.Now()
		if err := g.AllReduce(context.Background(), Sum, tensors); err != nil {
			return err
		}
		if i >= 3 {
			times[i-3] = time.Since(began)
		}
	}
	sent = g.Stats().Sent - sent
	slices.Sort(times)
	fmt.Println("result", times[count/2].Nanoseconds(), times[0].Nanoseconds(), sent/int64(count))
	return g.Close()
}

func rawExchange(spec *cluster.Spec, task cluster.Task, bytes, count int) error {
	address, err := spec.Address(cluster.Task{Type: "worker", Index: 0})
	if err != nil {
		return err
	}
	var conn net.Conn
	if task.Index == 0 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		if conn, err = l.Accept(); err != nil {
			return err
		}
	} else {
		for conn == nil {
			if conn, err = net.Dial("tcp", address); err != nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	values, piece := make([]float32, bytes/4), make([]float32, min(bytes, 512<<10)/4)
	out := numbers.Bytes(make([]float32, bytes/4))
	times := make([]time.Duration, count)
	written := make(chan error, 1)
	for i := range 3 + count {
		began := time.Now()
		go func() {
			_, err := conn.Write(out)
			written <- err
		}()
		for at := 0; at < len(values); at += len(piece) {
			if _, err := io.ReadFull(conn, numbers.Bytes(piece)); err != nil {
				return err
			}
			sum := numbers.Bytes(values[at : at+len(piece)])
			numbers.Combine(ir.Sum, ir.Float32, sum, sum, numbers.Bytes(piece))
		}
		if err := <-written; err != nil {
			return err
		}
		if i >= 3 {
			times[i-3] = time.Since(began)
		}
	}
	slices.Sort(times)
	fmt.Println("result", times[count/2].Nanoseconds(), times[0].Nanoseconds(), bytes)
	return conn.Close()
}
