package parameterserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/internal/otherservice"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// A coordinator that finds another service at the address of its only worker, or of a server, says so, and does not
// wait for the task.
func TestForeignServices(t *testing.T) {
	for _, kind := range otherservice.Kinds() {
		for _, odd := range []string{"ps", "worker"} {
			for name, security := range map[string]*collective.Security{"a secret": {Secret: []byte(collective.NewSecret())}, "no secret": nil} {
				t.Run(fmt.Sprint(kind, " for a ", odd, ", ", name), func(t *testing.T) {
					t.Parallel()
					listeners, jobs := map[string]net.Listener{}, map[string][]string{}
					for _, task := range []string{"worker", "ps"} {
						l, err := net.Listen("tcp", "127.0.0.1:0")
						require.NoError(t, err)
						listeners[task], jobs[task] = l, []string{l.Addr().String()}
					}
					otherservice.Serve(t, kind, listeners[odd])
					spec, err := cluster.NewSpec(jobs)
					require.NoError(t, err)
					ctx, stop := context.WithCancel(t.Context())
					run := func(task *cluster.Task, l net.Listener) error {
						o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, Listener: l, JoinTimeout: time.Hour, ServerTimeout: time.Hour, Deadline: 200 * time.Millisecond, Security: security}
						return parameterserver.Run(ctx, o, func(ctx context.Context, job parameters.Job) error {
							p, err := job.Schedule(ctx, "f", nil, 0)
							if err != nil {
								return err
							}
							_, err = p.Fetch(ctx)
							return errors.Join(err, job.Join(ctx))
						})
					}
					server, ended := make(chan error, 1), make(chan error, 1)
					if odd == "worker" {
						go func() { server <- run(&cluster.Task{Type: "ps"}, listeners["ps"]) }()
					} else {
						server <- listeners["worker"].Close()
					}
					clock := fairclock.Start()
					defer clock.Stop()
					go func() { ended <- run(nil, nil) }()
					err = fairclock.Receive(t, clock, 20*time.Second, ended, "the end of the coordinator")
					require.ErrorContains(t, err, listeners[odd].Addr().String())
					stop()
					fairclock.Receive(t, clock, 20*time.Second, server, "the end of the server")
				})
			}
		}
	}
}
