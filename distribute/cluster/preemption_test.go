package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The context ends with either announcement, and not while there is none or the server fails.
func TestUntilPreempted(t *testing.T) {
	for at, announcement := range map[string]string{"instance/preempted": "TRUE", "instance/maintenance-event": "TERMINATE_ON_HOST_MAINTENANCE"} {
		var asked atomic.Int32
		var now atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := asked.Add(1); {
			case n < 4:
				http.Error(w, "later", http.StatusServiceUnavailable)
			case now.Load() && strings.HasSuffix(r.URL.Path, at):
				_, _ = w.Write([]byte(announcement + "\n"))
			case strings.HasSuffix(r.URL.Path, "preempted"):
				_, _ = w.Write([]byte("FALSE"))
			default:
				_, _ = w.Write([]byte("NONE"))
			}
		}))
		m := &Metadata{Host: strings.TrimPrefix(server.URL, "http://")}
		ctx, stop := m.UntilPreempted(t.Context(), time.Millisecond)
		for asked.Load() < 20 {
			require.NoError(t, ctx.Err())
			time.Sleep(time.Millisecond)
		}
		now.Store(true)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrPreempted, at)
		stop()
		ctx, stop = m.UntilPreempted(t.Context(), 0)
		<-ctx.Done() // asked at once
		stop()
		server.Close()
	}
	ctx, stop := (&Metadata{Host: "127.0.0.1:1"}).UntilPreempted(t.Context(), time.Hour)
	require.NoError(t, ctx.Err())
	stop()
	<-ctx.Done()
	require.NotErrorIs(t, context.Cause(ctx), ErrPreempted)
}
