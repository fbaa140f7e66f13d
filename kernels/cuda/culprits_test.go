//go:build linux

package cuda

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

var culprits = flag.Int("culprits", 2, "how many jobs TestCulprits draws")

// nothingLeft reports goroutines that are left of a strategy that was closed, and whether the worker's address is still
// taken.
func nothingLeft() error {
	var left []string
	for range 250 { // a connection that was being made ends a moment later
		left = nil
		stacks := make([]byte, 1<<20)
		for _, s := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")[1:] {
			if strings.Contains(s, "/distribute/") || strings.Contains(s, "gokeras/keras.") || strings.Contains(s, "google.golang.org/grpc") || strings.Contains(s, "(*link)") {
				left = append(left, strings.ReplaceAll(s, "\n", " | "))
			}
		}
		if left == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left != nil {
		return fmt.Errorf("left running: %q", left)
	}
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil {
		return err
	}
	address, err := spec.Address(task)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("left running: %w", err)
	}
	return l.Close()
}

// drawJob draws a job of which some workers never come, exit, fail or freeze.
func drawJob(r *rand.Rand) (job gpuJob, workers int) {
	workers = 2 + r.IntN(4)
	job = gpuJob{Devices: 1, Epochs: 500, Pace: time.Millisecond, Deadline: time.Second, Timeout: 3 * time.Second, Join: 8 * time.Second, Fates: map[int]fate{}, Loop: r.IntN(2) == 0, Close: r.IntN(2) == 0}
	switch r.IntN(4) {
	case 0:
		job.Windows = true
	case 1:
		job.Ring = true
	case 2:
		job.Devices, job.Captured = 2, r.IntN(2) == 0
	}
	places := []place{anyTime, beforeFit, inNCCL, inStep}
	if job.Loop {
		places = []place{anyTime, beforeFit, inNCCL, inCall, inLoop}
	}
	if job.Windows || job.Ring {
		places = slices.DeleteFunc(places, func(p place) bool { return p == inNCCL || p == inCall })
	}
	for w := range workers {
		if r.IntN(workers) > 0 && (w < workers-1 || len(job.Fates) > 0) || len(job.Fates) == workers-1 {
			continue
		}
		f := fate{At: places[r.IntN(len(places))], How: []how{stays, exits, freezes, fails}[r.IntN(4)], After: time.Duration(r.IntN(3000)) * time.Millisecond}
		switch f.At {
		case anyTime: // from elsewhere, only the process as a whole can be met
			if f.How == stays {
				f = fate{At: absent}
			} else if f.How == fails {
				f.How = exits
			}
		case inNCCL, inCall:
			if f.How == fails {
				f.How = stays
			}
			f.Step = map[place]int{inCall: 1 + r.IntN(3)}[f.At]
		case inStep, inLoop:
			f.Step = 1 + r.IntN(6)
		}
		job.Fates[w] = f
		if f.How == stays && (f.At == inStep || f.At == inLoop || f.At == inCall) { // others come to the next step later than the rest, in time
			job.Late = map[int]fate{(w + 1) % workers: {At: f.At, Step: f.Step, After: time.Duration(r.IntN(2500)) * time.Millisecond}}
		}
	}
	return job, workers
}

var (
	accused = regexp.MustCompile(`worker:(\d+) \(127\.0\.0\.1:\d+\)(?:: | failed: )`)
	ownFall = "it lost the connections to most of the others"
)

// checkError reports what is wrong with the error of a worker.
func checkError(text string, own int, job gpuJob, joined map[int]bool) error {
	named := 0
	for _, m := range accused.FindAllStringSubmatchIndex(text, -1) {
		var who int
		fmt.Sscan(text[m[2]:m[3]], &who)
		if _, culprit := job.Fates[who]; !culprit {
			if rest := text[m[1]:]; !strings.HasPrefix(rest, "gave up") && !(who == own && strings.Contains(rest, ownFall)) {
				return fmt.Errorf("worker %d is accused, whom nothing has happened to", who)
			}
			continue
		}
		named++
		known := strings.Contains(text, fmt.Sprintf("worker:%d runs on fakecuda:0%s, strategy made at cuda/elastic_test.go:", who, []string{"", ", fakecuda:1"}[job.Devices-1]))
		if joined[who] && !known {
			return fmt.Errorf("what worker %d runs on is not said", who)
		}
		if !known && !strings.Contains(text, fmt.Sprintf("worker:%d has never joined, so what it runs on is not known", who)) {
			return fmt.Errorf("what is not known about worker %d is not said", who)
		}
	}
	switch {
	case named == 0:
		return errors.New("no culprit is named")
	case strings.Contains(text, "left running"):
		return errors.New("something is left running")
	}
	return nil
}

// Whatever keeps the others waiting, wherever: the error of each worker that is left names who it is, with devices and
// site where it had joined, in time, and accuses nobody else; and nothing is left running.
func TestCulprits(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for k := range *culprits {
		seed := *drawSeed + uint64(k)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			job, workers := drawJob(rand.New(rand.NewPCG(seed, 23)))
			t.Logf("%d workers, %d devices, windows %v, ring %v, loop %v, close %v: %v, late %v", workers, job.Devices, job.Windows, job.Ring, job.Loop, job.Close, job.Fates, job.Late)
			c := startCluster(t, workers, job)
			var living []int
			for w := range workers {
				f, fated := job.Fates[w]
				if !fated {
					living = append(living, w)
				}
				if f.At != absent {
					c.start(w)
				}
			}
			texts := c.failing(living...)
			joined := map[int]bool{}
			c.mu.Lock()
			for _, line := range c.log {
				if _, tasks, ok := strings.Cut(line, " formed: "); ok {
					for _, m := range regexp.MustCompile(`worker:(\d+)`).FindAllStringSubmatch(tasks, -1) {
						var who int
						fmt.Sscan(m[1], &who)
						joined[who] = true
					}
				}
			}
			log := strings.Join(c.log, "\n")
			c.mu.Unlock()
			for i, text := range texts {
				require.NoError(t, checkError(text, living[i], job, joined), "worker %d of %d, fates %v, late %v, joined %v: %s\nall said:\n%s", living[i], workers, job.Fates, job.Late, slices.Sorted(maps.Keys(joined)), text, log)
			}
		})
	}
}
