//go:build linux

package cuda

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
)

// Eight workers that keras launch gives a GPU each, of the eight of a machine, train what one does, through NCCL and in
// memory that they open to each other.
func TestLaunchedWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and starts processes: not with -short")
	}
	command := filepath.Join(t.TempDir(), "keras")
	out, err := exec.Command("go", "build", "-o", command, "github.com/gokeras/gokeras/cmd/keras").CombinedOutput()
	require.NoError(t, err, string(out))
	one := launchedJob(t, command, 1, gpuJob{})[0]
	for how, job := range map[string]gpuJob{"NCCL": {}, "windows": {Windows: true}} {
		t.Run(how, func(t *testing.T) {
			all := launchedJob(t, command, 8, job)
			for rank, got := range all {
				require.NotNil(t, got, "worker %d", rank)
				require.NotZero(t, got.Calls, "worker %d", rank)
				require.Equal(t, all[0].Weights, got.Weights, "worker %d", rank)
				require.Equal(t, one.Steps, got.Steps, "worker %d", rank)
				for k, w := range one.Weights {
					require.InDeltaSlice(t, w, got.Weights[k], 1e-4, "worker %d", rank)
				}
			}
		})
	}
}

// launchedJob returns the outcomes of workers with a GPU each.
func launchedJob(t *testing.T, command string, workers int, job gpuJob) []*outcome {
	t.Helper()
	job.World, job.Devices, job.Epochs, job.Launched = filepath.Join(t.TempDir(), "world"), 1, 3, true
	l, err := net.Listen("unix", job.World)
	require.NoError(t, err)
	defer l.Close()
	go fakenccl.NewWorld().Serve(l)
	text, err := json.Marshal(job)
	require.NoError(t, err)
	p := exec.Command(command, "launch", "-n", fmt.Sprint(workers), "--devices-per-worker", "1", "--", os.Args[0])
	p.Env = append(os.Environ(), jobVariable+"="+string(text), "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7")
	out, err := p.CombinedOutput()
	require.NoError(t, err, string(out))
	all := make([]*outcome, workers)
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		var rank int
		if _, err := fmt.Sscanf(lines.Text(), "[worker %d] outcome", &rank); err != nil {
			continue
		}
		_, text, _ := strings.Cut(lines.Text(), "outcome ")
		all[rank] = new(outcome)
		require.NoError(t, json.Unmarshal([]byte(text), all[rank]))
	}
	return all
}
