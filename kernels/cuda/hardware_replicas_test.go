//go:build linux

package cuda

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// gpus returns all GPUs of the machine, of which there must be several.
func gpus(t testing.TB) []kernels.Device {
	hardware(t)
	all := own.Devices()
	if len(all) < 2 {
		t.Skipf("the machine has %d GPU; this test is for several (make gpu-many)", len(all))
	}
	return all
}

// The suite of replicas, on several GPUs: directly, in shares, and through host memory where the GPUs do not reach each
// other.
func TestHardwareManyConformance(t *testing.T) {
	gpus(t)
	usual := twoShotBytes
	defer func() { twoShotBytes = usual }()
	for _, large := range []int{usual, 1} {
		twoShotBytes = large
		kernelstest.RunReplicas(t, own, kernels.Device{Kind: Kind})
	}
}

// library skips a test where there is no NCCL.
func library(t testing.TB) {
	if version, err := NCCL(); err != nil {
		t.Skipf("the machine has no NCCL: %v", err)
	} else {
		t.Log("NCCL ", version)
	}
}

// NCCL with one rank, on a GPU.
func TestHardwareNCCLOneRank(t *testing.T) {
	hardware(t)
	library(t)
	oneRank(t, own)
}

// Two processes on one GPU meet in memory that they open to each other, and come to what those on fake devices come to.
func TestHardwareTwoProcesses(t *testing.T) {
	if _, d := hardware(t); d.Kind != Kind {
		t.Skip("the two processes open cuda:0, and the tests were told another device")
	}
	run := func(real bool) []*outcome {
		c := startCluster(t, 2, gpuJob{Devices: 1, Deadline: 20 * time.Second, Epochs: 6, Windows: true, Real: real})
		for i := range 2 {
			c.start(i)
		}
		return c.end()
	}
	want := run(false)
	for worker, got := range run(true) {
		for k, w := range want[0].Weights {
			require.InDeltaSlice(t, w, got.Weights[k], 2e-4, "worker %d", worker)
		}
	}
}

// The suite of replicas, and training, through NCCL.
func TestHardwareManyNCCL(t *testing.T) {
	n := len(gpus(t))
	library(t)
	kernelstest.RunReplicas(t, byNCCL{own}, kernels.Device{Kind: Kind})
	want, _ := fittedOn(t, mirroredOn(t, "cpu", n, false), networks["CNN"]())
	for range 2 {
		o := distribute.MirroredOptions{CrossDeviceOps: distribute.NcclAllReduce{}}
		for i := range n {
			o.Devices = append(o.Devices, fmt.Sprint(Kind, ":", i))
		}
		s, err := distribute.NewMirroredStrategyWith(o)
		require.NoError(t, err)
		got, _ := fittedOn(t, s, networks["CNN"]())
		sameWeights(t, want, got, 2e-4)
	}
}

// A captured step over all GPUs of this process, with NCCL in it, comes to the bits of one that is not; it may hang, as
// NVIDIA's guide warns, and is a test of its own for that reason.
func TestHardwareManyCaptured(t *testing.T) {
	n := len(gpus(t))
	library(t)
	var all []*keras.Model
	for _, ask := range []bool{false, true} {
		o := distribute.MirroredOptions{CrossDeviceOps: distribute.NcclAllReduce{Captured: ask}}
		for i := range n {
			o.Devices = append(o.Devices, fmt.Sprint(Kind, ":", i))
		}
		s, err := distribute.NewMirroredStrategyWith(o)
		require.NoError(t, err)
		m, _ := fittedOn(t, s, networks["CNN"]())
		all = append(all, m)
	}
	sameWeights(t, all[0], all[1], 0)
}

// Replicas on GPUs come to what as many on the CPU come to, twice with the same bits, also with the state of the
// optimizer in pieces.
func TestHardwareManyTraining(t *testing.T) {
	n := len(gpus(t))
	want, _ := fittedOn(t, mirroredOn(t, "cpu", n, false), networks["CNN"]())
	got, _ := fittedOn(t, mirroredOn(t, Kind, n, false), networks["CNN"]())
	sameWeights(t, want, got, 2e-4)
	for _, shard := range []bool{false, true} {
		again, _ := fittedOn(t, mirroredOn(t, Kind, n, shard), networks["CNN"]())
		sameWeights(t, got, again, 0)
	}
}

// TestHardwareManyBandwidth times all-reduces and writes a table: bus bandwidth is 2(n-1)/n of the bytes in the time,
// as nccl-tests counts it.
func TestHardwareManyBandwidth(t *testing.T) {
	devices := gpus(t)
	var table strings.Builder
	bandwidth(t, &table, devices, "", "kernels of our own")
	if _, err := NCCL(); err == nil {
		bandwidth(t, &table, devices, kernels.NCCL, "NCCL")
	} else {
		fmt.Fprintf(&table, "\nNot run through NCCL: %v\n", err)
	}
	t.Log("\n" + table.String())
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("GOKERAS_GPU"), "many.md"), []byte(table.String()), 0o666))
}

// bandwidth times all-reduces through a library.
func bandwidth(t *testing.T, table *strings.Builder, devices []kernels.Device, library, name string) {
	n := len(devices)
	comms, err := own.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices, Library: library})
	require.NoError(t, err)
	fmt.Fprintf(table, "\n| bytes over %d GPUs, %s | microseconds | GB/s on the bus |\n|---|---|---|\n", n, name)
	for size := 1 << 10; size <= 256<<20; size *= 16 {
		p := ir.New("all-reduce")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{size / 4}})
		y, err := p.Add("all-reduce", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n}, x)
		require.NoError(t, err)
		p.AddAlias("x", y[0], 0)
		e, err := own.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: n})
		require.NoError(t, err)
		var launches []kernels.Launch
		var sessions []kernels.Session
		for i, d := range devices {
			s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: i})
			require.NoError(t, err)
			q, err := own.NewQueue(d)
			require.NoError(t, err)
			b, err := own.NewBuffer(d, p.Type(x))
			require.NoError(t, err)
			sessions = append(sessions, s)
			launches = append(launches, kernels.Launch{Queue: q, Inputs: []kernels.Buffer{b}, Outputs: []kernels.Buffer{nil}, Communicator: comms[i]})
		}
		run := func(times int) time.Duration {
			begin := time.Now()
			for range times {
				for i, s := range sessions {
					s.Launch(context.Background(), launches[i])
				}
			}
			for _, l := range launches {
				require.NoError(t, l.Queue.Wait(t.Context()))
			}
			return time.Since(begin) / time.Duration(times)
		}
		run(5)
		took := min(run(20), run(20), run(20))
		fmt.Fprintf(table, "| %d | %.1f | %.2f |\n", size, float64(took.Nanoseconds())/1e3, 2*float64(n-1)/float64(n)*float64(size)/float64(took.Nanoseconds()))
		for i, s := range sessions {
			s.Close()
			launches[i].Inputs[0].Free()
			launches[i].Queue.Close()
		}
		e.Close()
	}
	for _, c := range comms {
		c.Close()
	}
}
