//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// A worker that cannot take part, whose devices or whose library are wrong: all get the error at once, with the worker,
// its devices and the line that makes its strategy. The others would wait for it.
func TestRefusedWorkers(t *testing.T) {
	const workers = 3
	for name, c := range map[string]struct {
		change func(p *process)
		device func(kind string) []string
		own    string // in worker 1's error
		others string // a pattern in those of the others
	}{
		"no library": {func(p *process) {
			p.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no " + "libnccl.so.2; install it") }
		}, nil, "the implementation NCCL: there is no libnccl.so.2; install it; or use AUTO or RING", `worker:1 \(127\.0\.0\.1:\d+\) failed: .*the implementation NCCL: there is no libnccl.so.2; install it; or use AUTO or RING; worker:1 runs on \w+1cuda:0, strategy made at cuda/disagreement_test.go:\d+`},
		"no such device":  {nil, func(kind string) []string { return []string{kind + ":7"} }, "1cuda:7", `worker:1 \(127\.0\.0\.1:\d+\) failed: .*1cuda:7.*; worker:1 runs on \w+1cuda:7, strategy made at cuda/disagreement_test.go:\d+`},
		"one GPU twice":   {nil, func(kind string) []string { return []string{kind + ":0", kind + ":0"} }, "1cuda:0 is listed twice", `worker:1 \(127\.0\.0\.1:\d+\) failed: .*1cuda:0 is listed twice.*; worker:1 runs on \w+1cuda:0, \w+1cuda:0, strategy made at cuda/disagreement_test.go:\d+`},
		"more devices":    {nil, func(kind string) []string { return []string{kind + ":0", kind + ":1"} }, "1 replicas on each worker", `worker:1 \(127\.0\.0\.1:\d+\) calls .*2 replicas on each worker.*; worker:0 runs on \w+0cuda:0, strategy made at cuda/disagreement_test.go:\d+; worker:1 runs on \w+1cuda:0, \w+1cuda:1, strategy made at`},
		"another version": {func(p *process) { p.library.SetVersion(22005) }, nil, "NCCL is version 2.29.7 on worker 0", `NCCL is version 2.29.7 on worker 0 \(\w+0cuda:0 of host host\d+, strategy made at cuda/disagreement_test.go:\d+\) and 2.20.5 on worker 1 \(\w+1cuda:0 of host host\d+, strategy made at cuda/disagreement_test.go:\d+\); all workers need the same one`},
		"one card":        {func(p *process) { p.host = func() string { return "node7 b007" } }, nil, "are one GPU", `1cuda:0 of worker 1, strategy made at cuda/disagreement_test.go:\d+ and \w+2cuda:0 of worker 2, strategy made at cuda/disagreement_test.go:\d+ are one GPU, 00000000:A0:00.0 of host node7`},
	} {
		t.Run(name, func(t *testing.T) {
			kind := fmt.Sprint("refused", made.Add(1), "of")
			w := fakenccl.NewWorld()
			for rank := range workers {
				p := newProcess(w, fakedriver.Options{Devices: 2})
				p.backend.kind = fmt.Sprint(kind, rank, "cuda")
				if c.change != nil && (rank == 1 || name == "one card" && rank == 2) {
					c.change(p)
				}
				kernels.Register(p.backend)
			}
			o := multiworker.Options{Deadline: 2 * time.Second, JoinTimeout: 30 * time.Second, Communication: collective.CommunicationOptions{Implementation: collective.NCCL, Timeout: 10 * time.Second}}
			began := time.Now()
			for rank, err := range fakeWorkersOn(t, workers, o, func(rank int) []string {
				own := fmt.Sprint(kind, rank, "cuda")
				if rank == 1 && c.device != nil {
					return c.device(own)
				}
				return []string{own + ":0"}
			}, func(_ int, s *distribute.MultiWorkerMirroredStrategy) error {
				_, err := s.Communicators()
				distribute.FailTogether(s, err)
				return err
			}) {
				if rank == 1 {
					require.ErrorContains(t, err, c.own)
					continue
				}
				require.Error(t, err, "worker %d", rank)
				require.Regexp(t, c.others, err.Error(), "worker %d", rank)
			}
			require.Less(t, time.Since(began), 20*time.Second)
		})
	}
}
