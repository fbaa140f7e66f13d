package collective

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/otherservice"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// A worker at whose peer's address another service answers says so after two deadlines, whether it has a secret or
// none, and does not wait for the peer.
func TestForeignServices(t *testing.T) {
	for _, kind := range otherservice.Kinds() {
		for name, security := range map[string]*Security{"a secret": {Secret: []byte(testSecret)}, "no secret": nil} {
			t.Run(fmt.Sprint(kind, ", ", name), func(t *testing.T) {
				t.Parallel()
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				otherservice.Serve(t, kind, l)
				own, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				spec, err := cluster.NewSpec(map[string][]string{"worker": {own.Addr().String(), l.Addr().String()}})
				require.NoError(t, err)
				clock := fairclock.Start()
				defer clock.Stop()
				ended := make(chan error, 1)
				go func() {
					_, err := Join(background(), Options{Cluster: spec, Task: cluster.Task{Type: "worker"}, Listener: own, JoinTimeout: time.Hour, Deadline: 200 * time.Millisecond, Security: security})
					ended <- err
				}()
				err = fairclock.Receive(t, clock, 20*time.Second, ended, "the end of the wait")
				require.ErrorContains(t, err, "worker:1 ("+l.Addr().String()+"): belongs to something else")
			})
		}
	}
}
