//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A worker that has the result of the last collective leaves the job while the others' devices are not so far yet: they
// get their results too. Where it leaves instead of taking part, they get an error that says so.
func TestWorkerLeavesFirst(t *testing.T) {
	const workers = 3
	usual := windowBytes
	defer func() { windowBytes = usual }()
	windowBytes = 16 // two rounds
	for name, implementation := range map[string]collective.Implementation{"NCCL": collective.NCCL, "windows": collective.Auto} {
		t.Run(name, func(t *testing.T) {
			world, kind := fakenccl.NewWorld(), fmt.Sprint("leaving", made.Add(1), "cuda")
			var drivers []*fakedriver.Fake
			slow := make(chan struct{})
			for i := range workers {
				o := fakedriver.Options{Bus: i}
				if i > 0 {
					meetings := 0
					o.Before = func(kernel string) { // what comes when all have come to the last round
						if kernel == "meet" {
							meetings++
						} else if meetings == 2 {
							<-slow
						}
					}
				}
				f := fakedriver.New(o)
				library := fakenccl.New(world, f)
				if i > 0 {
					library.Met = func(call string) {
						if call == "ncclAllGather" { // of the flags, at the end
							<-slow
						}
					}
				}
				b := newBackend(fmt.Sprint(kind, i), func() (driver.API, error) { return f, nil })
				b.openNCCL = func() (nccl.API, error) { return library, nil }
				b.host = func() string { return "one host" }
				kernels.Register(b)
				drivers = append(drivers, f)
			}
			o := multiworker.Options{Communication: collective.CommunicationOptions{Implementation: implementation, Timeout: 20 * time.Second}}
			left := make(chan struct{})
			for rank, err := range fakeWorkersOn(t, workers, o, func(rank int) []string { return []string{fmt.Sprint(kind, rank, ":0")} }, func(rank int, s *distribute.MultiWorkerMirroredStrategy) error {
				ends, err := s.Communicators()
				if err != nil {
					return err
				}
				defer ends[0].Close()
				d := s.Devices()[0]
				b, err := kernels.Lookup(d.Kind)
				if err != nil {
					return err
				}
				buffer, err := b.NewBuffer(d, ir.Type{DType: ir.Float32, Shape: ir.Shape{5}})
				if err != nil {
					return err
				}
				defer buffer.Free()
				if rank == 0 {
					err = ends[0].AllReduce(context.Background(), ir.Sum, []kernels.Buffer{buffer})
					go func() {
						time.Sleep(100 * time.Millisecond)
						close(slow)
					}()
					err = errors.Join(err, s.Close())
					close(left)
					return err
				}
				if err := ends[0].AllReduce(context.Background(), ir.Sum, []kernels.Buffer{buffer}); err != nil {
					return err
				}
				<-left
				if err := ends[0].AllReduce(context.Background(), ir.Sum, []kernels.Buffer{buffer}); err == nil || !strings.Contains(err.Error(), "worker:0") {
					return fmt.Errorf("after the end: %w", err)
				}
				return nil
			}) {
				require.NoError(t, err, "worker %d", rank)
			}
			for _, f := range drivers {
				require.NoError(t, f.Fault())
			}
		})
	}
}
