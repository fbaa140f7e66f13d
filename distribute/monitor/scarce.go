package monitor

import (
	"net"

	"github.com/gokeras/gokeras/internal/ports"
)

// patient is a listener whose errors say what to do if the process has no file descriptor left for a connection.
type patient struct{ net.Listener }

// Accept implements net.Listener.
func (p patient) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if ports.Exhausted(err) {
		err = &exhausted{err}
	}
	return conn, err
}

// exhausted is an error that the server logs before it tries again. Unwrapped, some of these errors would end the
// server, although they are temporary too.
type exhausted struct{ error }

func (e *exhausted) Error() string   { return e.error.Error() + "; " + ports.RaiseLimit }
func (e *exhausted) Unwrap() error   { return e.error }
func (e *exhausted) Timeout() bool   { return false }
func (e *exhausted) Temporary() bool { return true }
