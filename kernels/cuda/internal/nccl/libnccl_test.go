//go:build linux

package nccl_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// stream is the one handle that the library in testdata accepts.
const stream driver.Handle = 0x5712ea

// library is the libnccl.so.2 in testdata, with the functions that it exports for tests.
type library struct {
	nccl.API
	idle  func(nccl.Comm) int32
	alive func() int32
}

// build compiles the library in testdata and returns its folder.
func build(t *testing.T) string {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the libnccl.so.2 of testdata")
	}
	folder := t.TempDir()
	out, err := exec.Command(compiler, "-Wall", "-O1", "-shared", "-fPIC", "-pthread", "-o", filepath.Join(folder, "libnccl.so.2"), "testdata/libnccl.c", "-lrt").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return folder
}

func open(t *testing.T, folder string) *library {
	t.Setenv("GOKERAS_CUDA_PATH", folder)
	api, err := nccl.Open()
	require.NoError(t, err)
	handle, err := purego.Dlopen(filepath.Join(folder, "libnccl.so.2"), purego.RTLD_NOW)
	require.NoError(t, err)
	l := &library{API: api}
	purego.RegisterLibFunc(&l.idle, handle, "fake_idle")
	purego.RegisterLibFunc(&l.alive, handle, "fake_alive")
	return l
}

// await polls until yes returns true. Its time limit is that of a hanging test.
func await(what string, yes func() bool) error {
	for begin := time.Now(); !yes(); time.Sleep(100 * time.Microsecond) {
		if time.Since(begin) > 2*time.Minute {
			return fmt.Errorf("%s: not after two minutes", what)
		}
	}
	return nil
}

// settled waits until no call is in progress.
func (l *library) settled(c nccl.Comm) error {
	var state, r nccl.Result
	err := await("connecting", func() bool {
		state, r = l.AsyncError(c)
		return state != nccl.InProgress || r != nccl.Success
	})
	return errors.Join(err, nccl.Check(l, r, "ncclCommGetAsyncError", ""), nccl.Check(l, state, "ncclCommInitRankConfig", ""))
}

// connect makes the communicators of the given ranks.
func (l *library) connect(ranks int, id nccl.ID, own ...int) ([]*nccl.Comm, error) {
	var all []*nccl.Comm
	for _, rank := range own {
		c := new(nccl.Comm)
		if err := nccl.Check(l, l.InitRank(c, ranks, id, rank), "ncclCommInitRankConfig", ""); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := l.settled(*c); err != nil {
			return all, err
		}
	}
	return all, nil
}

// exercise makes every call, and returns what rank r of n holds afterwards. The memory does not move, like a device's.
func (l *library) exercise(comms []*nccl.Comm, first, n int) (results [][]float32, err error) {
	const count = 5
	type memory struct{ in, out [8][4 * count]float32 }
	all := make([]*memory, len(comms))
	var pin runtime.Pinner
	defer pin.Unpin()
	at := func(a *[4 * count]float32) driver.Address { return driver.Address(uintptr(unsafe.Pointer(a))) }
	check := func(r nccl.Result, call string) { err = errors.Join(err, nccl.Check(l, r, call, "")) }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	check(l.GroupStart(), "ncclGroupStart")
	for i, p := range comms {
		m, c, rank := &memory{}, *p, first+i
		pin.Pin(m)
		all[i] = m
		for k := range m.in {
			for j := range m.in[k] {
				m.in[k][j] = float32((rank + 1) * (j + 1 + k))
			}
		}
		check(l.AllReduce(at(&m.in[0]), at(&m.out[0]), count, nccl.Float32, nccl.Sum, c, stream), "ncclAllReduce")
		check(l.AllReduce(at(&m.in[1]), at(&m.out[1]), count, nccl.Float32, nccl.Max, c, stream), "ncclAllReduce")
		check(l.Broadcast(at(&m.in[2]), at(&m.out[2]), count, nccl.Float32, n-1, c, stream), "ncclBroadcast")
		check(l.Reduce(at(&m.in[3]), at(&m.out[3]), count, nccl.Float32, nccl.Prod, n-1, c, stream), "ncclReduce")
		check(l.AllGather(at(&m.in[4]), at(&m.out[4]), count, nccl.Float32, c, stream), "ncclAllGather")
		check(l.ReduceScatter(at(&m.in[5]), at(&m.out[5]), count, nccl.Float32, nccl.Min, c, stream), "ncclReduceScatter")
		check(l.Send(at(&m.in[6]), count, nccl.Float32, (rank+1)%n, c, stream), "ncclSend")
		check(l.Recv(at(&m.out[6]), count, nccl.Float32, (rank+n-1)%n, c, stream), "ncclRecv")
	}
	check(l.GroupEnd(), "ncclGroupEnd")
	for i, c := range comms {
		if err == nil {
			err = errors.Join(await("the work", func() bool { return l.idle(*c) != 0 }), l.settled(*c))
		}
		for k := range all[i].out {
			results = append(results, all[i].out[k][:])
		}
	}
	return results, err
}

// expected is what exercise should return for a rank.
func expected(rank, n int) [8][20]float32 {
	var out [8][20]float32
	in := func(r, k, j int) float32 { return float32((r + 1) * (j + 1 + k)) }
	for j := range 5 {
		product := float32(1)
		for r := range n {
			out[0][j] += in(r, 0, j)
			out[1][j] = max(out[1][j], in(r, 1, j))
			product *= in(r, 3, j)
			out[4][5*r+j] = in(r, 4, j)
		}
		out[2][j] = in(n-1, 2, j)
		if rank == n-1 {
			out[3][j] = product
		}
		out[5][j] = in(0, 5, 5*rank+j)
		out[6][j] = in((rank+n-1)%n, 6, j)
	}
	return out
}

// Every call reaches the library with its arguments in the right places, the ranks of one process find each other, and
// nothing leaks.
func TestBinding(t *testing.T) {
	l := open(t, build(t))
	v, r := l.Version()
	assert.Equal(t, []any{22907, nccl.Success, "2.29.7"}, []any{v, r, nccl.Version(v)})
	id, r := l.UniqueID()
	require.Equal(t, nccl.Success, r)
	comms, err := l.connect(3, id, 0, 1, 2)
	require.NoError(t, err)
	results, err := l.exercise(comms, 0, 3)
	require.NoError(t, err)
	for rank := range 3 {
		for k, want := range expected(rank, 3) {
			assert.Equal(t, want[:], results[8*rank+k], "rank %d, call %d", rank, k)
		}
	}
	for _, c := range comms {
		require.Equal(t, nccl.InProgress, l.Finalize(*c))
	}
	for _, c := range comms {
		require.NoError(t, l.settled(*c))
		require.Equal(t, nccl.Success, l.Destroy(*c))
	}
	require.Zero(t, l.alive())
	_, r = l.AsyncError(*comms[0])
	assert.EqualError(t, nccl.Check(l, r, "ncclCommGetAsyncError", "replica %d", 0), "nccl: ncclCommGetAsyncError: invalid argument (4): no such communicator; replica 0")
}

// An abort ends the wait for a missing rank, while connecting and in the middle of a collective.
func TestAbort(t *testing.T) {
	l := open(t, build(t))
	id, _ := l.UniqueID()
	alone := new(nccl.Comm)
	require.Equal(t, nccl.InProgress, l.InitRank(alone, 2, id, 1))
	state, r := l.AsyncError(*alone)
	require.Equal(t, []nccl.Result{nccl.InProgress, nccl.Success}, []nccl.Result{state, r})
	require.Equal(t, nccl.Success, l.Abort(*alone))

	id, _ = l.UniqueID()
	comms, err := l.connect(2, id, 0, 1)
	require.NoError(t, err)
	var pin runtime.Pinner
	defer pin.Unpin()
	x := &[8]float32{}
	pin.Pin(x)
	a := driver.Address(uintptr(unsafe.Pointer(x)))
	require.Equal(t, nccl.Success, l.AllReduce(a, a, 8, nccl.Float32, nccl.Sum, *comms[0], stream), "the other one does not come")
	require.Zero(t, l.idle(*comms[0]))
	for _, c := range comms {
		require.Equal(t, nccl.Success, l.Abort(*c))
	}
	require.Zero(t, l.alive())
}

// Each call fails once: the error names it, with the library's message.
func TestEveryCallFails(t *testing.T) {
	folder := build(t)
	for _, call := range []string{"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"} {
		t.Run(call, func(t *testing.T) {
			out, err := child(folder, "NCCL_FAKE_FAIL="+call+" 1", "NCCL_TEST_RANKS=1")
			require.Error(t, err)
			require.Contains(t, out, "nccl: "+call+": ")
			require.Contains(t, out, call+" was asked to fail")
		})
	}
}

// child runs a rank in its own process.
func child(folder string, environment ...string) (string, error) {
	c := exec.Command(os.Args[0], "-test.run=^TestRank$", "-test.v")
	c.Env = append(os.Environ(), append(environment, "NCCL_TEST_CHILD=1", "GOKERAS_CUDA_PATH="+folder)...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestRank is what the child processes run.
func TestRank(t *testing.T) {
	if os.Getenv("NCCL_TEST_CHILD") == "" {
		t.Skip("this is a rank of other tests, which start it as a process")
	}
	l := open(t, os.Getenv("GOKERAS_CUDA_PATH"))
	var rank, n int
	fmt.Sscan(os.Getenv("NCCL_TEST_RANK"), &rank)
	fmt.Sscan(os.Getenv("NCCL_TEST_RANKS"), &n)
	id, r := l.UniqueID()
	require.NoError(t, nccl.Check(l, r, "ncclGetUniqueId", ""))
	if text := os.Getenv("NCCL_TEST_ID"); text != "" {
		_, err := hex.Decode(id[:], []byte(text))
		require.NoError(t, err)
	}
	comms, err := l.connect(n, id, rank)
	require.NoError(t, err)
	results, err := l.exercise(comms, rank, n)
	require.NoError(t, err)
	for k, want := range expected(rank, n) {
		require.Equal(t, want[:], results[k], "rank %d, call %d", rank, k)
	}
	require.Equal(t, nccl.Success, l.Abort(*comms[0]))
	require.Zero(t, l.alive())
}

// Each rank is a process.
func TestProcesses(t *testing.T) {
	folder := build(t)
	l := open(t, folder)
	id, r := l.UniqueID()
	require.Equal(t, nccl.Success, r)
	const n = 3
	done := make(chan error, n)
	for rank := range n {
		go func() {
			out, err := child(folder, "NCCL_TEST_ID="+hex.EncodeToString(id[:]), fmt.Sprint("NCCL_TEST_RANK=", rank), fmt.Sprint("NCCL_TEST_RANKS=", n))
			if err != nil {
				err = fmt.Errorf("rank %d: %w: %s", rank, err, out)
			}
			done <- err
		}()
	}
	for range n {
		assert.NoError(t, <-done)
	}
}

// The errors for a missing or outdated library say what to do.
func TestNoLibrary(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("GOKERAS_CUDA_PATH", folder)
	if _, err := nccl.Open(); err != nil {
		assert.ErrorContains(t, err, "install NVIDIA's NCCL")
	}
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build an old library")
	}
	source := filepath.Join(folder, "old.c")
	require.NoError(t, os.WriteFile(source, []byte("int ncclGetVersion(int *v) { *v = 2708; return 0; }"), 0o600))
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", filepath.Join(folder, "libnccl.so.2"), source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, err = nccl.Open()
	assert.ErrorContains(t, err, "is version 2.7.8, which is too old; install 2.14.0 or later")
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

// The calls of each step do not allocate.
func TestNoAllocations(t *testing.T) {
	l := open(t, build(t))
	id, _ := l.UniqueID()
	comms, err := l.connect(1, id, 0)
	require.NoError(t, err)
	var pin runtime.Pinner
	defer pin.Unpin()
	x := &[8]float32{float32(math.Pi)}
	pin.Pin(x)
	a, c := driver.Address(uintptr(unsafe.Pointer(x))), *comms[0]
	var failed nccl.Result
	allocations := testing.AllocsPerRun(50, func() {
		for _, r := range []nccl.Result{l.GroupStart(), l.AllReduce(a, a, 8, nccl.Float32, nccl.Sum, c, stream), l.AllGather(a, a, 8, nccl.Float32, c, stream), l.GroupEnd()} {
			if r != nccl.Success && r != nccl.InProgress {
				failed = r
			}
		}
		if _, r := l.AsyncError(c); r != nccl.Success {
			failed = r
		}
	})
	require.Equal(t, nccl.Success, failed)
	assert.Zero(t, allocations)
	require.Equal(t, nccl.Success, l.Abort(c))
}
