//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Large sums of float32 travel in 16 bits where that is asked for, are formed as float32 in the order of the ranks, and
// are the same bits everywhere, however they meet. Small ones are exact.
func TestNarrow(t *testing.T) {
	const n = 3
	usual, usualWindow := twoShotBytes, windowBytes
	defer func() { twoShotBytes, windowBytes = usual, usualWindow }()
	for _, c := range []struct {
		how    string
		shares int // from so many bytes on
		window int
		apart  func(a, b int) bool
	}{
		{"NCCL", usual, usualWindow, nil},
		{"peers", usual, usualWindow, nil}, {"peers", 1, usualWindow, nil},
		{"islands", usual, usualWindow, islands}, {"islands", 1, usualWindow, islands},
		{"windows", usual, usualWindow, nil}, {"windows", 1, usualWindow, nil}, {"windows", 1, 4096, nil}, {"windows", usual, 1 << 10, nil},
	} {
		for _, narrow := range []ir.DType{ir.BFloat16, ir.Float16} {
			if brief() && narrow == ir.Float16 && c.shares == 1 {
				continue
			}
			t.Run(fmt.Sprint(c.how, ", shares from ", c.shares, ", windows of ", c.window, ", ", narrow), func(t *testing.T) {
				twoShotBytes, windowBytes = c.shares, c.window
				var processes []*process
				comms := make([]kernels.Communicator, n)
				var backends []kernels.Backend // by replica
				var devices []kernels.Device
				if c.how == "windows" {
					var members []member
					processes, members = newNeighbours(n)
					for i := range members {
						members[i].options.Narrow = narrow
						backends, devices = append(backends, members[i]), append(devices, kernels.Device{Kind: Kind})
					}
					for _, err := range each(n, func(i int) error {
						ends, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices[:1]})
						if err == nil {
							comms[i] = ends[0]
						}
						return err
					}) {
						require.NoError(t, err)
					}
				} else {
					p := newProcess(fakenccl.NewWorld(), fakedriver.Options{Devices: n, NoPeers: c.apart})
					processes = []*process{p}
					o := kernels.CommunicatorOptions{Narrow: narrow}
					for i := range n {
						backends, devices = append(backends, p.backend), append(devices, kernels.Device{Kind: Kind, Index: i})
					}
					if o.Devices = devices; c.how == "NCCL" {
						o.Library = kernels.NCCL
					}
					var err error
					comms, err = p.NewCommunicators(t.Context(), o)
					require.NoError(t, err)
				}
				for _, kind := range []ir.Kind{ir.Sum, ir.Mean, ir.Max} {
					for _, length := range []int{5000, 4999, 100} { // the shares of 5000 are uneven
						sumsNarrow(t, backends, devices, comms, kind, length, narrow)
					}
				}
				each(n, func(i int) bool {
					comms[i].Close()
					return true
				})
				for _, p := range processes {
					require.NoError(t, p.clean())
				}
				if c.how == "NCCL" {
					require.NotZero(t, processes[0].library.Calls()["ncclSend"])
				}
			})
		}
	}
}

// sumsNarrow does an all-reduce and compares the results with those worked out here.
func sumsNarrow(t *testing.T, backends []kernels.Backend, devices []kernels.Device, comms []kernels.Communicator, kind ir.Kind, length int, narrow ir.DType) {
	t.Helper()
	n := len(comms)
	value := func(r, i int) float64 { return float64(float32(0.001) * float32((r+1)*(i%97))) }
	results := each(n, func(r int) (out brought) {
		b, err := backends[r].NewBuffer(devices[r], ir.Type{DType: ir.Float32, Shape: ir.Shape{length}})
		if err != nil {
			return brought{err: err}
		}
		defer b.Free()
		for i := range length {
			out.data = ir.AppendElement(out.data, ir.Float32, value(r, i))
		}
		out.err = errors.Join(b.Write(out.data), comms[r].AllReduce(t.Context(), kind, []kernels.Buffer{b}), b.Read(out.data))
		return out
	})
	for r, got := range results {
		require.NoError(t, got.err)
		require.Equal(t, results[0].data, got.data, "replica %d", r)
	}
	round := func(x float64) float64 { return x }
	narrows := 4*length > narrowFrom && kind != ir.Max
	if narrows {
		round = func(x float64) float64 { return ir.Element(ir.AppendElement(nil, narrow, x), narrow, 0) }
	}
	for i := range length {
		var want float32
		for r := range n {
			switch x := float32(round(value(r, i))); {
			case kind == ir.Max:
				want = max(want, x)
			default:
				want += x
			}
		}
		if kind == ir.Mean {
			want /= float32(n)
		}
		got := ir.Element(results[0].data, ir.Float32, i)
		if narrows {
			require.Equal(t, round(float64(want)), got, "%v of %d, element %d", kind, length, i)
		} else {
			require.InDelta(t, float64(want), got, 1e-7, "%v of %d, element %d", kind, length, i)
		}
	}
}

// brought is what a replica has after a call.
type brought struct {
	data []byte
	err  error
}
