//go:build linux

package cuda

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

var failures = flag.Int("failures", 30, "how many failing calls TestRandomFailures draws for each way to meet; 0: every call once")

// Calls whose failure nobody may be told of, because something is given back, looked at again, or done in another way,
// or that are made as time wants.
var quiet = []string{"cuStreamDestroy_v2", "cuDevicePrimaryCtxRelease_v2", "cuMemFreeAsync", "cuMemFreeHost", "cuEventDestroy_v2", "cuModuleUnload", "cuGraphExecDestroy", "cuGraphDestroy",
	"cuEventQuery", "cuEventSynchronize", "cuStreamQuery", "cuCtxSetCurrent", "cuStreamSynchronize", "cuMemPoolTrimTo", "cuMemFree_v2", "cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuIpcCloseMemHandle", "ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort", "ncclCommGetAsyncError"}

// Calls whose failure makes the driver or the library unusable.
var fatal = []string{"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "ncclGetVersion"}

// meetingPlace is a way to meet, with its fakes.
type meetingPlace struct {
	processes []*process
	run       func(atEnd func()) error // which is called before all is given back, where that can fail
}

// narrowing is a backend whose replicas send sums as bfloat16.
type narrowing struct{ *backend }

func (b narrowing) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	o.Narrow = ir.BFloat16
	return b.backend.NewCommunicators(ctx, o)
}

func meetingPlaces(t *testing.T) map[string]func() meetingPlace {
	const n = 3
	alone := func(o fakedriver.Options, way func(b *backend) kernels.Backend) meetingPlace {
		o.Devices = n
		p := newProcess(fakenccl.NewWorld(), o)
		return meetingPlace{[]*process{p}, func(func()) error { return several(t, way(p.backend), n) }}
	}
	own := func(b *backend) kernels.Backend { return b }
	arranged := func(name string) meetingPlace {
		return alone(fakedriver.Options{NoPeers: islands}, func(b *backend) kernels.Backend { return arranging{b, arrangements[name]} })
	}
	return map[string]func() meetingPlace{
		"peers":   func() meetingPlace { return alone(fakedriver.Options{}, own) },
		"islands": func() meetingPlace { return alone(fakedriver.Options{NoPeers: islands}, own) },
		"NCCL": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend { return byNCCL{b} })
		},
		"NCCL, captured": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend { return captured{b} })
		},
		"within": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend { return within{b, nil} })
		},
		"within, in groups": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend {
				return within{b, &kernels.Arrangement{Groups: [][]int{{1, 0}, {2}}, Packs: 2}}
			})
		},
		"peers, timed": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend { return watched{b} })
		},
		"within, timed": func() meetingPlace {
			return alone(fakedriver.Options{}, func(b *backend) kernels.Backend { return watched{within{b, nil}} })
		},
		"groups": func() meetingPlace { return arranged("pairs, 3 packs") },
		"ring":   func() meetingPlace { return arranged("ring") },
		"narrow": func() meetingPlace {
			return alone(fakedriver.Options{NoPeers: islands}, func(b *backend) kernels.Backend { return narrowing{b} })
		},
		"windows": func() meetingPlace {
			processes, members := newNeighbours(2)
			return meetingPlace{processes, func(atEnd func()) error {
				return errors.Join(neighbourly(t, members, atEnd)...)
			}}
		},
	}
}

// Whichever call of the driver or of NCCL fails, at whatever place: the error names it, nobody waits forever, what was
// taken is given back, and the next steps work.
func TestRandomFailures(t *testing.T) {
	usual, usualNarrow := twoShotBytes, narrowFrom
	defer func() { twoShotBytes, narrowFrom = usual, usualNarrow }()
	narrowFrom = 0
	for name, place := range meetingPlaces(t) {
		t.Run(name, func(t *testing.T) {
			first := place()
			var calls map[string]int
			count := func() {
				if calls == nil {
					calls = first.processes[0].driver.Calls()
					maps.Copy(calls, first.processes[0].library.Calls())
				}
			}
			require.NoError(t, first.run(count))
			count()
			for _, p := range first.processes {
				require.NoError(t, p.clean())
			}
			type fault struct {
				call string
				at   int
			}
			var all []fault
			for _, call := range slices.Sorted(maps.Keys(calls)) {
				for k := range calls[call] {
					all = append(all, fault{call, k + 1})
				}
			}
			if n := *failures; n > 0 {
				rng := rand.New(rand.NewPCG(*drawSeed, 3))
				byCall := map[string][]fault{}
				for _, f := range all {
					byCall[f.call] = append(byCall[f.call], f)
				}
				all = nil
				for _, call := range slices.Sorted(maps.Keys(calls)) { // each call at least once
					all = append(all, byCall[call][rng.IntN(len(byCall[call]))])
				}
				for len(all) < n {
					call := slices.Sorted(maps.Keys(calls))[rng.IntN(len(calls))]
					all = append(all, byCall[call][rng.IntN(len(byCall[call]))])
				}
			}
			for _, f := range all {
				p := place()
				if strings.HasPrefix(f.call, "nccl") {
					p.processes[0].library.Fail(f.call, f.at)
				} else {
					p.processes[0].driver.Fail(f.call, f.at)
				}
				done := make(chan error, 1)
				go func() { done <- p.run(func() {}) }()
				var err error
				select {
				case err = <-done:
				case <-time.After(time.Minute):
					require.Fail(t, "it hangs", "call %d of %s failed", f.at, f.call)
				}
				silent := slices.Contains(quiet, f.call) || strings.HasSuffix(name, "timed") && f.call == "cuDeviceGetAttribute" || // then a profile has no percentages
					p.processes[0].driver.Calls()[f.call]+p.processes[0].library.Calls()[f.call] < f.at // it did not come to that
				if !silent {
					require.ErrorContains(t, err, f.call, "call %d of %s", f.at, f.call)
				}
				p.processes[0].driver.Fail("", 0)
				p.processes[0].library.Fail("", 0)
				if slices.Contains(fatal, f.call) {
					continue
				}
				if len(p.processes) == 1 {
					require.NoError(t, p.run(func() {}), "after call %d of %s failed", f.at, f.call)
				}
				for i, process := range p.processes {
					err := process.clean()
					require.NoError(t, errors.Join(process.driver.Fault(), process.library.Fault()), "process %d after call %d of %s failed", i, f.at, f.call)
					if !silent { // those cannot be given back
						require.NoError(t, err, "process %d after call %d of %s failed", i, f.at, f.call)
					}
				}
			}
			t.Log(len(all), "failures")
		})
	}
}
