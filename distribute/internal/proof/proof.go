// Package proof detects a process at the address of a task that cannot prove that it belongs to the job, so that
// waiting for that task does not help.
package proof

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/credentials"
)

// Watch returns credentials that set alien if the other end of a connection has another secret or authority, or none.
// Connections without a secret have no handshake; for these see [Shut].
func Watch(c credentials.TransportCredentials, alien *atomic.Bool) credentials.TransportCredentials {
	return &watched{c, alien}
}

// Shut is a connection without a secret that sets alien if the other end closes it without sending anything, as a
// process that expects a secret does, or does not speak HTTP/2: see [Foreign].
func Shut(conn net.Conn, alien *atomic.Bool) net.Conn { return &shut{Conn: conn, alien: alien} }

type shut struct {
	net.Conn
	alien *atomic.Bool // nil: something came
}

// Read implements net.Conn.
func (s *shut) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if s.alien != nil && (n > 0 || err != nil) {
		if Foreign(b[:n], err) {
			s.alien.Store(true)
		}
		s.alien = nil
	}
	return n, err
}

// settingsFrame is the type of the first frame that an HTTP/2 server sends, after three bytes with its length.
const settingsFrame = 4

// Foreign reports whether the other end of a connection, which has sent first or failed with err, is not an HTTP/2
// server or expects a secret. HTTP/1.1 servers, SSH and others answer with text, and a server that expects TLS closes
// the connection.
func Foreign(first []byte, err error) bool {
	if len(first) > 0 {
		return first[0] != 0 || len(first) > 3 && first[3] != settingsFrame
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

type watched struct {
	credentials.TransportCredentials
	alien *atomic.Bool
}

// ClientHandshake implements [credentials.TransportCredentials].
func (w *watched) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	out, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, conn)
	var verification *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	if errors.As(err, &verification) || errors.As(err, &header) || errors.As(err, &alert) {
		w.alien.Store(true)
	}
	return out, info, err
}

// Clone implements [credentials.TransportCredentials].
func (w *watched) Clone() credentials.TransportCredentials {
	return &watched{w.TransportCredentials.Clone(), w.alien}
}
