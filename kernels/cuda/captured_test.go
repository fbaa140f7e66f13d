//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/layers"
)

// captured is a backend whose replicas meet through NCCL, also in captured steps.
type captured struct{ *backend }

func (b captured) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	o.Library, o.Captured = kernels.NCCL, true
	return b.backend.NewCommunicators(ctx, o)
}

// A step of several devices of one process with NCCL in it is one launch of a graph, where that is asked for, and
// changes what it changes otherwise.
func TestCapturedStep(t *testing.T) {
	const n, steps = 3, captureAfter + 4
	for name, ask := range map[string]bool{"asked for": true, "by default": false} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(fakenccl.NewWorld(), fakedriver.Options{Devices: n})
			var b kernels.Backend = byNCCL{p.backend}
			if ask {
				b = captured{p.backend}
			}
			c, err := newCrew(t, b, n)
			require.NoError(t, err)
			for range captureAfter + 1 {
				require.NoError(t, errors.Join(c.step()...))
			}
			before := p.library.Calls()["ncclAllReduce"]
			calls := callsIn(t, p.driver, func() {
				for range steps - captureAfter - 1 {
					require.NoError(t, errors.Join(c.step()...))
				}
			})
			weighs(t, []*crew{c}, steps, n)
			after := p.library.Calls()["ncclAllReduce"]
			if ask {
				require.Equal(t, steps-captureAfter-1, calls["cuGraphLaunch"])
				require.Zero(t, calls["cuLaunchKernel"])
				require.Equal(t, before, after)
			} else {
				require.Zero(t, calls["cuGraphLaunch"])
				require.Greater(t, after, before)
			}
			c.Close()
			require.NoError(t, p.clean())
		})
	}
}

// NcclAllReduce with Captured trains to the same bits as without.
func TestCapturedTraining(t *testing.T) {
	_, f := fakes()
	network := func() []layers.Layer { return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3}} }
	fit := func(ask bool) []float64 {
		s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1"}, CrossDeviceOps: distribute.NcclAllReduce{Captured: ask}})
		require.NoError(t, err)
		m, _ := fittedOn(t, s, network())
		weights, err := m.GetWeights()
		require.NoError(t, err)
		var all []float64
		for _, w := range weights {
			all = append(all, w.Float64s()...)
		}
		return all
	}
	var want, got []float64
	plain := callsIn(t, f, func() { want = fit(false) })
	graphs := callsIn(t, f, func() { got = fit(true) })
	require.Equal(t, want, got)
	require.Greater(t, graphs["cuGraphLaunch"], plain["cuGraphLaunch"])
	require.Less(t, graphs["cuLaunchKernel"], plain["cuLaunchKernel"])
	require.NoError(t, f.Fault())
}

// asking makes members ask for captures.
func asking(members []member) []member {
	for i := range members {
		members[i].options.Captured = true
	}
	return members
}

// Processes with several devices each capture their steps, where that is asked for. One that dies leaves the others
// waiting inside of a replayed graph: an abort, or the end of their patience, frees them, with the weights of before.
// They form again without it, and capture again.
func TestCapturedLostProcess(t *testing.T) {
	gone := errors.New("worker 1 is gone")
	for name, patient := range map[string]bool{"aborted": true, "time is over": false} {
		t.Run(name, func(t *testing.T) {
			const steps = captureAfter + 2
			devices := []int{2, 1, 2}
			processes := newProcesses(len(devices))
			all := crews(t, asking(newMembers(processes, devices...)), devices...)
			for range steps {
				for _, errs := range each(len(all), func(i int) []error { return all[i].step() }) {
					require.NoError(t, errors.Join(errs...))
				}
			}
			weighs(t, all, steps, 5)
			for _, p := range processes {
				require.Equal(t, steps-captureAfter, p.driver.Calls()["cuGraphLaunch"])
			}
			processes[1].library.Die()
			rest := []*crew{all[0], all[2]}
			for i, errs := range each(2, func(i int) []error {
				f := processes[2*i].driver
				begun := f.Calls()["cuGraphLaunch"]
				go func() {
					for f.Calls()["cuGraphLaunch"] == begun {
						runtime.Gosched()
					}
					if patient {
						rest[i].comms[0].Abort(gone)
						return
					}
					l := rest[i].comms[0].(*communicator).group.link
					l.mu.Lock()
					defer l.mu.Unlock()
					l.timeout = 1
				}()
				return rest[i].step()
			}) {
				for _, err := range errs {
					require.ErrorContains(t, err, map[bool]string{true: gone.Error(), false: "have waited for the others in NCCL"}[patient], "process %d", 2*i)
				}
			}
			all[1].comms[0].Abort(gone)
			weighs(t, rest, steps, 5)
			closeAll(all)
			left := []*process{processes[0], processes[2]}
			again := crews(t, asking(newMembers(left, 2, 2)), 2, 2)
			for range steps {
				for _, errs := range each(2, func(i int) []error { return again[i].step() }) {
					require.NoError(t, errors.Join(errs...))
				}
			}
			weighs(t, again, steps, 4)
			closeAll(again)
			for i, p := range processes {
				require.NoError(t, p.clean(), "process %d", i)
			}
		})
	}
}

// Workers that disagree about captures all get one error, which names both with their devices and sites, also where
// NCCL was not asked for by name.
func TestCapturedDisagreement(t *testing.T) {
	for _, library := range []string{"", kernels.NCCL} {
		processes := newProcesses(3)
		members := newMembers(processes, 1, 2, 1)
		for i := range members {
			members[i].options.Captured, members[i].options.Library, members[i].options.Site = i != 1, library, fmt.Sprint("train.go:", i+1)
		}
		for _, err := range each(3, func(i int) error {
			_, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: slices.Collect(func(yield func(kernels.Device) bool) {
				for k := range []int{1, 2, 1}[i] {
					yield(kernels.Device{Kind: Kind, Index: k})
				}
			})})
			return err
		}) {
			require.Error(t, err)
			require.Regexp(t, `cuda: Captured is true on worker 0 \(cuda:0 of host host\d+, strategy made at train.go:1\) and false on worker 1 \(cuda:0, cuda:1 of host host\d+, strategy made at train.go:2\); all workers need the same`, err.Error())
			require.False(t, errors.Is(err, errors.ErrUnsupported))
			require.False(t, strings.Contains(err.Error(), "worker 2"))
		}
		for _, p := range processes {
			require.NoError(t, p.clean())
		}
	}
}
