package parameterserver

import (
	"fmt"
	"net"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/internal/ports"
)

// A process that has no file descriptors left looks from outside like one that is lost, and everybody else looks lost
// to it. So it says what it is short of.

// patient is a listener that says so where it cannot take connections. gRPC tries again.
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

// noteDial returns the error of an attempt to connect, with what to do where this process is to blame.
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

// affords refuses a table for which this process has no memory: making it would end the process, and once it is in the
// log, each that is started in its place.
func (s *Server) affords(c protocol.Command) error {
	if create, ok := c.(*protocol.Create); ok && !create.Dynamic && !s.state.Seen(c) {
		if err := memory.Check(fmt.Sprintf("parameterserver: table %s on %v", create.Name, s.settings.task), create.Bytes()); err != nil {
			return fmt.Errorf("%w, or more parameter servers", err)
		}
	}
	return nil
}
