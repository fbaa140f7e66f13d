package proof

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// Renewed returns credentials that are reloaded before a handshake if the modification time of one of the files (at
// most three) has changed, because certificates are replaced while a job runs. If reloading fails, for example during a
// replacement, the previous credentials are used. Open connections keep theirs.
func Renewed(load func() (*tls.Config, error), files ...string) (credentials.TransportCredentials, error) {
	r := &renewed{files: files, load: load}
	at := r.times()
	config, err := load()
	if err != nil {
		return nil, err
	}
	r.at, r.now = at, credentials.NewTLS(config)
	r.TransportCredentials = r.now
	return r, nil
}

type renewed struct {
	credentials.TransportCredentials // the first ones
	files                            []string
	load                             func() (*tls.Config, error)

	mu  sync.Mutex // guards what follows
	now credentials.TransportCredentials
	at  [3]time.Time
}

func (r *renewed) times() (at [3]time.Time) {
	for i, file := range r.files {
		if info, err := os.Stat(file); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}

// fresh returns credentials from the current files.
func (r *renewed) fresh() credentials.TransportCredentials {
	at := r.times()
	r.mu.Lock()
	defer r.mu.Unlock()
	if at != r.at {
		if config, err := r.load(); err == nil {
			r.at, r.now = at, credentials.NewTLS(config)
		}
	}
	return r.now
}

// ClientHandshake implements [credentials.TransportCredentials].
func (r *renewed) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return r.fresh().ClientHandshake(ctx, authority, conn)
}

// ServerHandshake implements [credentials.TransportCredentials].
func (r *renewed) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return r.fresh().ServerHandshake(conn)
}

// Clone implements [credentials.TransportCredentials].
func (r *renewed) Clone() credentials.TransportCredentials { return r }
