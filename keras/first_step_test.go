package keras_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFirstStep measures the time from the start of a process to the end of its first training step: the
// tutorial's convolutional network with its data and batches of 64, in a program built for this purpose. The fastest
// run must stay below a bound that is generous for an idle machine; the median describes the machine in its current
// state.
func BenchmarkFirstStep(b *testing.B) {
	program := filepath.Join(b.TempDir(), "firststep")
	out, err := exec.Command("go", "build", "-o", program, "./testdata/firststep").CombinedOutput()
	require.NoError(b, err, "%s", out)
	const runs = 15
	var times []time.Duration
	for range runs {
		times = append(times, firstStep(b, program))
	}
	for b.Loop() {
		times = append(times, firstStep(b, program))
	}
	slices.Sort(times)
	milliseconds := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	b.ReportMetric(milliseconds(times[0]), "ms-fastest")
	b.ReportMetric(milliseconds(times[len(times)/2]), "ms-median")
	b.ReportMetric(0, "ns/op")
	if limit := 150 * time.Millisecond; times[0] > limit {
		b.Errorf("the fastest of %d first steps ended %v after the start of the process; expected at most %v", len(times), times[0], limit)
	}
}

func firstStep(b *testing.B, program string) time.Duration {
	b.Helper()
	cmd := exec.Command(program)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	begin := time.Now()
	require.NoError(b, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	elapsed := time.Since(begin)
	require.NoError(b, err)
	require.Equal(b, "done\n", line)
	require.NoError(b, cmd.Wait())
	return elapsed
}
