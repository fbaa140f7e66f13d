package collective

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// Where somebody takes connections at the address of a worker and never says a word, as a stopped process does, the
// others tell that after two deadlines, and go on waiting.
func TestMutePeer(t *testing.T) {
	for name, security := range map[string]*Security{"a secret": {Secret: []byte(testSecret)}, "no secret": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, list := listeners(t, 2)
			defer list[1].Close()
			heard := make(chan string, 9)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(background())
			defer cancel()
			clock := fairclock.Start()
			defer clock.Stop()
			go func() {
				_, err := Join(ctx, Options{Cluster: spec, Task: cluster.Task{Type: "worker"}, Listener: list[0], JoinTimeout: time.Hour, Deadline: 1500 * time.Millisecond,
					Security: security, Observe: func(text string) { heard <- text }})
				ended <- err
			}()
			text := fairclock.Receive(t, clock, 20*time.Second, heard, "the message")
			require.Contains(t, text, "waiting up to 1h0m0s for a group, in which worker:1 ("+list[1].Addr().(*net.TCPAddr).String()+"): did not come: its address takes connections and then says nothing")
			cancel()
			require.ErrorContains(t, <-ended, "says nothing: the worker is stopped, or another program listens there")
			require.Empty(t, heard)
		})
	}
}
