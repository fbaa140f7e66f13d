package multiworker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
)

// limitDescriptors leaves this process so many file descriptors beside those that are open; -1: none, also when some of
// those are closed.
func limitDescriptors(free int) error {
	limit := uint64(3)
	for at := 3; free >= 0 && at < 1<<10; at++ {
		if _, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(at))); err != nil {
			free--
		}
		limit = uint64(at)
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: 1 << 10})
}

// limited are roles in which worker 1 comes to the limit of its file descriptors after some steps.
func limited() map[string]role {
	all := map[string]role{}
	for _, free := range []int{-1, 0} {
		odd := misfit{batch: func(_ *keras.Model, step int) error {
			if step == 19 {
				return limitDescriptors(free)
			}
			return nil
		}}
		run := func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
			out, err := trainFor(40, odd)(ctx, s)
			if err := limitDescriptors(1 << 9); err != nil {
				return nil, err
			}
			return out, err
		}
		for kind, elastic := range map[string]*distribute.Elastic{"plain": nil, "elastic": {}, "shrinking": {Min: 2, Patience: 200 * time.Millisecond}} {
			all[fmt.Sprint(kind, ", free descriptors ", free)] = role{run: run, hurried: true, stream: true, tells: true, elastic: elastic, patient: 4 * time.Second}
		}
	}
	return all
}

// TestFewDescriptors: a worker that has no file descriptor for a new connection when another one is killed and comes
// back is not taken for a broken line to that one: all end in time, well or with an error that says so.
func TestFewDescriptors(t *testing.T) {
	for name := range limited() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			j := start(t, 3, name, dir)
			for i := range 3 {
				j.until(i, "trained")
			}
			clock := fairclock.Start()
			defer clock.Stop()
			require.NoError(t, j.workers[2].Process.Kill())
			<-j.done[2]
			require.NoError(t, os.WriteFile(filepath.Join(dir, goOn), nil, 0o644))
			plain := strings.HasPrefix(name, "plain")
			if !plain {
				j.again(2)
			}
			for i := range 3 {
				if plain && i == 2 {
					continue
				}
				var e ending
				j.read(i, &e)
				require.Contains(t, []string{"", "member"}, e.Kind, e.Text)
				if e.Kind != "" {
					require.Regexp(t, namesWorker, e.Text)
				}
				require.Equal(t, plain, e.Kind != "", e.Text)
				require.NotRegexp(t, `lost worker:[02][^;]*too many open files`, j.output[i].String(), "worker 1 is short of them")
			}
			if !plain && strings.HasSuffix(name, "-1") {
				require.Regexp(t, `lost worker:1 \([^)]*\): withdrew: it cannot open a connection to worker:2: .*too many open files.*raise the limit`, j.output[0].String())
			}
			require.Less(t, clock.Elapsed(), 15*time.Second)
		})
	}
}
