package collective

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
	"github.com/gokeras/gokeras/distribute/internal/proof"
	"github.com/gokeras/gokeras/distribute/internal/recycle"
	"github.com/gokeras/gokeras/internal/ports"
)

// The service has two streams, both from client to server: states of the membership protocol, and frames of
// collectives. Each worker is a client of all others to which it sends.
const (
	serviceName   = "gokeras.collective.v1.Worker"
	controlMethod = "/" + serviceName + "/Control"
	dataMethod    = "/" + serviceName + "/Data"

	keyJob     = "gokeras-job"
	keyVersion = "gokeras-version"
	keyTask    = "gokeras-task"
	keyView    = "gokeras-view"
)

// handler receives the transport's reports to the group.
type handler interface {
	received(s *membership.State)
	disconnected(task int, since time.Time, detail string) // since: when the attempt began that failed; now if a connection broke
	exhausted(task int, why string)                        // this process has no socket for a connection
	refused(task int, why string)                          // the other side says, or shows, that it belongs elsewhere
	frames(ctx context.Context, task int, view uint64, next func() (*frame, error)) error
}

// transport is the shell around the protocol: connections, streams, goroutines.
type transport struct {
	settings *settings
	handler  handler
	listener net.Listener
	creds    credentials.TransportCredentials // of the servers
	serving  sync.Mutex
	servers  map[*grpc.Server]struct{} // one for each connection
	stopped  bool
	cancel   context.CancelFunc
	ctx      context.Context
	peers    []*peerLink
	leaving  chan struct{} // closed when the last state is to be sent
	running  sync.WaitGroup
	talking  sync.WaitGroup // the goroutines that send states
	sent     atomic.Int64   // bytes written to sockets
	received atomic.Int64   // and read
	lent     loans
	landing  landing
	inbound  atomic.Int64 // connections open
}

// peerLink is the connection to one other worker.
type peerLink struct {
	conn   *grpc.ClientConn
	fresh  chan struct{}             // there is something new to send
	state  atomic.Pointer[[]byte]    // the newest state; an older one need not be sent
	socket atomic.Pointer[socket]    // the connection in use
	lapsed atomic.Pointer[time.Time] // when the newest attempt to connect began that is over
	stream atomic.Int64              // number of the newest control stream from that worker
	alien  atomic.Bool               // the newest attempt to connect met somebody who cannot prove to belong to the job
	mute   atomic.Bool               // on the newest connection that is over nothing has come
	scarce atomic.Bool               // this process could not have a socket for the newest attempt to connect
}

func newTransport(ctx context.Context, s *settings, h handler) (*transport, error) {
	t := &transport{settings: s, handler: h, peers: make([]*peerLink, len(s.members)), leaving: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	server, client := credentials.TransportCredentials(insecure.NewCredentials()), credentials.TransportCredentials(insecure.NewCredentials())
	if s.Security != nil {
		both, err := proof.Renewed(s.Security.config, s.Security.CAFile, s.Security.CertFile, s.Security.KeyFile)
		if err != nil {
			t.cancel()
			return nil, err
		}
		server, client = both, both
	}
	for task, member := range s.members {
		if task == s.self {
			continue
		}
		p := &peerLink{fresh: make(chan struct{}, 1)}
		conn, err := t.dial(member.Address, client, p)
		if err != nil {
			t.abandon()
			return nil, fmt.Errorf("collective: address of %v: %w", member.Task, err)
		}
		p.conn = conn
		t.peers[task] = p
	}
	listener := s.Listener
	if listener == nil {
		var err error
		if listener, err = ports.Listen(ctx, s.members[s.self].Address, min(s.portPatience, s.JoinTimeout)); err != nil {
			t.abandon()
			return nil, fmt.Errorf("collective: %v cannot listen on its address: %w", s.Task, err)
		}
	}
	t.listener, t.creds, t.servers = listener, server, map[*grpc.Server]struct{}{}
	t.running.Add(1)
	go t.accept()
	for task, p := range t.peers {
		if p != nil {
			t.talking.Add(1)
			go t.control(task, p)
		}
	}
	return t, nil
}

const (
	streamWindow = 16 << 20
	connWindow   = 64 << 20
	socketBuffer = 64 << 10
)

// buffer returns the size of gRPC's buffers. Without encryption there are none, see socket; TLS needs them so that its
// records are not small.
func (t *transport) buffer() int {
	if t.settings.Security == nil {
		return 0
	}
	return socketBuffer
}

func (t *transport) dial(address string, creds credentials.TransportCredentials, p *peerLink) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(proof.Watch(creds, &p.alien)), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(t.buffer()), grpc.WithWriteBufferSize(t.buffer()), experimental.WithBufferPool(recycle.Buffers),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(1<<20)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 250 * time.Millisecond},
			MinConnectTimeout: 2 * time.Second}),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			began := time.Now()
			conn, err := d.DialContext(ctx, "tcp", address)
			p.scarce.Store(ports.Exhausted(err))
			if err != nil {
				p.mute.Store(false)
				p.lapsed.Store(&began)
				return nil, err
			}
			var c *socket
			c = newSocket(conn, t, 0, func() {
				p.mute.Store(!c.heard.Load())
				p.lapsed.Store(&began)
			})
			c.shut = &p.alien
			p.socket.Store(c)
			return c, nil
		}))
}

// abandon releases what was already created if the transport cannot be created.
func (t *transport) abandon() {
	t.cancel()
	for _, p := range t.peers {
		if p != nil {
			_ = p.conn.Close() // it was never used
		}
	}
}

func (t *transport) close() {
	t.cancel()
	t.talking.Wait()
	for _, p := range t.peers {
		if p != nil {
			_ = p.conn.Close() // closing twice is the only error
		}
	}
	t.stop()
	t.running.Wait()
}

// farewell sends the last state and waits briefly until the others have received it.
func (t *transport) farewell() {
	close(t.leaving)
	gone := make(chan struct{})
	go func() {
		t.talking.Wait()
		close(gone)
	}()
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
		t.cancel()
		<-gone
	}
}

// broadcast queues a state for all others. It replaces a state that was not sent yet.
func (t *transport) broadcast(data []byte) {
	for _, p := range t.peers {
		if p != nil {
			p.state.Store(&data)
			select {
			case p.fresh <- struct{}{}:
			default:
			}
		}
	}
}

func (t *transport) outgoing(ctx context.Context, view uint64) context.Context {
	return metadata.AppendToOutgoingContext(ctx, keyJob, strconv.FormatUint(t.settings.job, 16), keyVersion, strconv.Itoa(t.settings.version),
		keyTask, strconv.Itoa(t.settings.self), keyView, strconv.FormatUint(view, 16))
}

// control maintains a stream to one worker and sends states on it.
func (t *transport) control(task int, p *peerLink) {
	defer t.talking.Done()
	pause := 10 * time.Millisecond
	for t.ctx.Err() == nil {
		began := time.Now()
		since, err := t.converse(p)
		if t.ctx.Err() != nil || t.left() {
			return
		}
		alien := p.alien.Swap(false)
		switch status.Code(err) {
		case codes.FailedPrecondition, codes.PermissionDenied, codes.Unimplemented: // the last one is said by another service
			alien = true
		}
		if alien {
			t.handler.refused(task, describe(err))
		}
		if p.scarce.Load() {
			t.handler.exhausted(task, describe(err))
		} else {
			t.handler.disconnected(task, since, p.describe(err))
		}
		if time.Since(began) > time.Second {
			pause = 10 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-t.leaving:
			return
		case <-t.ctx.Done():
		}
		pause = min(2*pause, 250*time.Millisecond)
		p.conn.ResetConnectBackoff()
	}
}

// reset closes the connection to a task if it is at least that old, so that a new one is made: after the network has
// recovered, the old one would wait for its next retransmission, which may be a long time away.
func (t *transport) reset(task int, age time.Duration) {
	if p := t.peers[task]; p != nil {
		if c := p.socket.Load(); c != nil && time.Since(c.made) >= age {
			_ = c.Close() // it may be closed already
		}
	}
}

// describe says why there is no connection.
func (p *peerLink) describe(err error) string {
	text := describe(err)
	if p.mute.Load() {
		text = "its address takes connections and then says nothing: the worker is stopped, or another program listens there: " + text
	}
	return text
}

func (t *transport) left() bool {
	select {
	case <-t.leaving:
		return true
	default:
		return false
	}
}

func describe(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

var controlStream = &grpc.StreamDesc{StreamName: "Control", ClientStreams: true, ServerStreams: true}
var dataStream = &grpc.StreamDesc{StreamName: "Data", ClientStreams: true, ServerStreams: true}

// converse sends states until that fails, and returns the time since which the connection is known to be gone.
func (t *transport) converse(p *peerLink) (since time.Time, err error) {
	ctx, cancel := context.WithCancel(t.outgoing(t.ctx, 0))
	defer cancel()
	stream, err := p.conn.NewStream(ctx, controlStream, controlMethod)
	if err != nil { // perhaps of an attempt a while ago: gRPC fails all streams until the next one succeeds
		if began := p.lapsed.Load(); began != nil {
			return *began, err
		}
		return time.Now(), err
	}
	err = t.talk(stream, p, cancel)
	return time.Now(), err
}

// talk sends the states on a stream until it ends.
func (t *transport) talk(stream grpc.ClientStream, p *peerLink, cancel context.CancelFunc) error {
	ended := make(chan error, 1)
	go func() { // nothing is ever received: this sees the end of the connection
		err := stream.RecvMsg(&blob{})
		if err == nil || errors.Is(err, io.EOF) {
			err = errors.New("the worker ended the connection")
		}
		ended <- err
		cancel()
	}()
	for {
		if data := p.state.Load(); data != nil {
			if err := stream.SendMsg(&blob{*data}); err != nil {
				return <-ended
			}
		}
		select {
		case err := <-ended:
			return err
		case <-p.fresh:
			continue
		case <-t.leaving:
		}
		if data := p.state.Load(); data != nil {
			_ = stream.SendMsg(&blob{*data}) // what follows shows whether it worked
		}
		_ = stream.CloseSend() // never fails
		return <-ended
	}
}

// identify checks that a stream comes from a worker of this job and protocol.
func (t *transport) identify(ctx context.Context) (task int, view uint64, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	value := func(key string) string {
		if list := md.Get(key); len(list) == 1 {
			return list[0]
		}
		return ""
	}
	if v := value(keyVersion); v != strconv.Itoa(t.settings.version) {
		return 0, 0, status.Errorf(codes.FailedPrecondition, "refused: protocol version %q; this worker speaks %d; run the same version of the program on all workers", v,
			t.settings.version)
	}
	if value(keyJob) != strconv.FormatUint(t.settings.job, 16) {
		return 0, 0, status.Errorf(codes.PermissionDenied, "refused: %v belongs to another job or cluster%s", t.settings.Task, t.settings.jobText())
	}
	task, err = strconv.Atoi(value(keyTask))
	if err != nil || task < 0 || task >= len(t.peers) || task == t.settings.self {
		return 0, 0, status.Error(codes.InvalidArgument, "refused: not a task of the cluster")
	}
	view, err = strconv.ParseUint(value(keyView), 16, 64)
	if err != nil {
		return 0, 0, status.Error(codes.InvalidArgument, "refused: no view")
	}
	return task, view, nil
}

func (t *transport) serveControl(_ any, stream grpc.ServerStream) error {
	task, _, err := t.identify(stream.Context())
	if err != nil {
		return err
	}
	number := t.peers[task].stream.Add(1)
	for {
		var b blob
		if err := stream.RecvMsg(&b); err != nil {
			// The end of a replaced stream means nothing: it may belong to an earlier process.
			if t.ctx.Err() == nil && t.peers[task].stream.Load() == number {
				t.handler.disconnected(task, time.Now(), "it ended the connection")
			}
			return nil
		}
		s, err := membership.Decode(b.data, t.settings.job)
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "refused: %v", err)
		}
		if s.Task != task {
			return status.Error(codes.InvalidArgument, "refused: a state of another task")
		}
		t.handler.received(s)
	}
}

func (t *transport) serveData(c *socket, stream grpc.ServerStream) error {
	task, view, err := t.identify(stream.Context())
	if err != nil {
		return err
	}
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	c.trusted.Store(true)
	return t.handler.frames(stream.Context(), task, view, func() (*frame, error) {
		f := new(frame)
		if err := stream.RecvMsg(f); err != nil {
			return nil, err
		}
		return f, nil
	})
}

// open begins a data stream of a view to a task.
func (t *transport) open(ctx context.Context, task int, view uint64) (grpc.ClientStream, error) {
	// The control stream reports if there is no connection; the verdict then ends ctx.
	stream, err := t.peers[task].conn.NewStream(t.outgoing(ctx, view), dataStream, dataMethod, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	_, err = stream.Header() // from here on gRPC keeps no copies to try again
	return stream, err
}
