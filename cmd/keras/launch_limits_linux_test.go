package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/internal/fairclock"
)

// TestServersFewDescriptors: a parameter server or a worker without a file descriptor for a new connection says so and
// names the limit, and training goes on when it is raised.
func TestServersFewDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for limited, test := range map[string]struct{ killed, says string }{
		"ps:0":     {"worker:1", "ps:0 cannot take connections: "},
		"worker:1": {"ps:0", "worker:1 cannot open a connection to ps:0 at "},
		"worker:0": {"chief:0", "worker:0 cannot take connections: "},
	} {
		t.Run(limited, func(t *testing.T) {
			l := &launchedServers{t: t, dir: t.TempDir(), out: lockedText{mu: make(chan struct{}, 1)}, clock: fairclock.Start()}
			defer l.clock.Stop()
			t.Setenv(role, "servers")
			ended := make(chan int, 1)
			go func() {
				ended <- run(t.Context(), []string{"launch", "--ps", "1", "--workers", "2", "--restarts", "100", "--", os.Args[0], l.dir}, &l.out, &l.out)
			}()
			l.onward("the start")
			limit := func(name string, n uint64) {
				require.NoError(t, unix.Prlimit(l.number(name), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 1 << 10}, nil))
			}
			limit(limited, 3)
			id := l.number(test.killed)
			require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
			l.await(test.killed+" is started again", func() bool { return l.number(test.killed) != id })
			l.await(limited+" says why", func() bool {
				for line := range strings.Lines(l.out.String()) {
					if strings.Contains(line, test.says) && strings.Contains(line, "too many open files; raise the limit of open files (ulimit -n)") {
						return true
					}
				}
				return false
			})
			limit(limited, 1<<10)
			l.onward("the limit is raised")
			require.NoError(t, replaceFile(l.dir+"/stop", ""))
			l.await("the end", func() bool { return len(ended) > 0 })
			require.Zero(t, <-ended, l.out.String())
		})
	}
}
