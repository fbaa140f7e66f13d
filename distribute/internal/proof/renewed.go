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

// Renewed returns credentials that are loaded again before a handshake where one of the at most three files has another
// time than when they were loaded: certificates are replaced while a job runs. Where that fails, as amid the
// replacement, the ones before are used. What an open connection was made with stays.
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

// fresh returns credentials of the files as they are.
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
