package collective

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"

	"github.com/gokeras/gokeras/distribute/internal/recycle"
)

// accept serves the connections of other workers until the transport is closed. Each connection has its own gRPC
// server, because a gRPC server has one memory pool, and data of a connection must go to memory of that connection; see
// inflow.
func (t *transport) accept() {
	defer t.running.Done()
	const firstPause = 5 * time.Millisecond
	pause := firstPause
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			if t.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			if pause == firstPause && t.settings.Observe != nil {
				t.settings.Observe(fmt.Sprintf("connections of other workers cannot be taken: %v", err))
			}
			select { // out of file descriptors, perhaps
			case <-time.After(pause):
			case <-t.ctx.Done():
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = firstPause
		if t.inbound.Add(1) > int64(4*len(t.peers)+32) { // a stranger cannot use up memory
			t.inbound.Add(-1)
			_ = conn.Close() // it is refused
			continue
		}
		t.serve(conn)
	}
}

// serve serves one connection.
func (t *transport) serve(conn net.Conn) {
	one := &oneListener{address: t.listener.Addr(), closed: make(chan struct{})}
	c := newSocket(conn, t, prefaceBytes, func() {
		t.inbound.Add(-1)
		_ = one.Close() // never fails
	})
	one.conn = c
	memory := mem.BufferPool(recycle.Buffers)
	if !c.veiled {
		memory = &c.in
	}
	server := grpc.NewServer(
		grpc.Creds(t.creds), grpc.ForceServerCodecV2(codec{}), grpc.ConnectionTimeout(5*time.Second), grpc.MaxConcurrentStreams(64),
		grpc.MaxRecvMsgSize(max(t.settings.SegmentBytes+slotBytes, maxControlBytes)), grpc.MaxHeaderListSize(8<<10),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connWindow), grpc.ReadBufferSize(t.buffer()), grpc.WriteBufferSize(t.buffer()),
		experimental.BufferPool(memory), grpc.WaitForHandlers(true), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 30 * time.Second}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Control", ClientStreams: true, ServerStreams: true, Handler: t.serveControl},
		{StreamName: "Data", ClientStreams: true, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error { return t.serveData(c, stream) }},
	}}, t)
	t.serving.Lock()
	defer t.serving.Unlock()
	if t.stopped {
		_ = c.Close() // it came too late
		return
	}
	t.servers[server] = struct{}{}
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		_ = server.Serve(one) // ends with the connection, or when the server is stopped
		server.Stop()
		t.serving.Lock()
		defer t.serving.Unlock()
		delete(t.servers, server)
	}()
}

// stop ends all connections and their streams.
func (t *transport) stop() {
	_ = t.listener.Close() // nothing else is done with it
	t.serving.Lock()
	t.stopped = true
	var all []*grpc.Server
	for server := range t.servers {
		all = append(all, server)
	}
	t.serving.Unlock()
	for _, server := range all {
		server.Stop()
	}
}

// oneListener is the listener of a server for one connection.
type oneListener struct {
	conn    net.Conn // nil: it was accepted
	address net.Addr
	closed  chan struct{}
	once    sync.Once
}

// Accept implements net.Listener: it returns the connection, and then waits for its end.
func (l *oneListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *oneListener) Addr() net.Addr { return l.address }
