package parameterserver

import (
	"fmt"
	"net"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/internal/ports"
)

// To others, a process without free file descriptors looks lost, and to it all others look lost. So it reports the
// shortage.

// patient is a listener that reports why it cannot accept connections. gRPC tries again.
type patient struct {
	net.Listener
	s    *settings
	told bool // Accept is called by one goroutine
}

// Accept implements net.Listener.
func (p *patient) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	scarce := ports.Exhausted(err)
	if scarce && !p.told {
		p.s.Observe(fmt.Sprintf("%v cannot take connections: %v; %s", p.s.task, err, ports.RaiseLimit))
	}
	p.told = scarce
	return conn, err
}

// noteDial returns the error of an attempt to connect, with advice if this process is to blame.
func (s *settings) noteDial(to cluster.Member, err error) error {
	if !ports.Exhausted(err) {
		s.scarce.Store(false)
		return err
	}
	err = fmt.Errorf("%v cannot open a connection to %v at %s: %w; %s", s.task, to.Task, to.Address, err, ports.RaiseLimit)
	if !s.scarce.Swap(true) {
		s.Observe(err.Error())
	}
	return err
}

// affords refuses a table for which this process has too little memory: creating it would kill the process and, once it
// is in the log, every process restarted in its place.
func (s *Server) affords(c protocol.Command) error {
	if create, ok := c.(*protocol.Create); ok && !create.Dynamic && !s.state.Seen(c) {
		if err := memory.Check(fmt.Sprintf("parameterserver: table %s on %v", create.Name, s.settings.task), create.Bytes()); err != nil {
			return fmt.Errorf("%w, or more parameter servers", err)
		}
	}
	return nil
}
