package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/proof"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/recycle"
	"github.com/gokeras/gokeras/internal/ports"
)

// The service has calls of one message and one answer, to servers, and a stream from the coordinator to each worker.
const (
	serverService = "gokeras.parameterserver.v1.Server"
	workerService = "gokeras.parameterserver.v1.Worker"
	workMethod    = "/" + workerService + "/Work"

	keyJob     = "gokeras-job"
	keyVersion = "gokeras-version"

	maxMessage   = 1 << 30
	window       = 16 << 20
	socketBuffer = 512 << 10
)

// message is a sequence of bytes that is sent unchanged.
type message struct{ data []byte }

type codec struct{}

func (codec) Name() string { return "gokeras-raw" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("parameterserver: cannot send a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("parameterserver: cannot receive a %T", v)
	}
	m.data = data.Materialize()
	return nil
}

func (s *settings) speaks() int {
	if s.version != 0 {
		return s.version
	}
	return protocol.Version
}

// credentials returns the credentials of connections, as server and as client.
func (s *settings) credentials() (server, client credentials.TransportCredentials, err error) {
	if err := s.checkSecurity(); err != nil {
		return nil, nil, err
	}
	if s.Security == nil {
		return insecure.NewCredentials(), insecure.NewCredentials(), nil
	}
	both, err := proof.Renewed(s.Security.TLS, s.Security.CAFile, s.Security.CertFile, s.Security.KeyFile)
	return both, both, err
}

func (s *settings) newServer() (*grpc.Server, error) {
	creds, _, err := s.credentials()
	if err != nil {
		return nil, err
	}
	return grpc.NewServer(grpc.Creds(creds), grpc.ForceServerCodecV2(codec{}), grpc.ConnectionTimeout(5*time.Second), grpc.MaxConcurrentStreams(1024),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(8<<10), grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(4*window), grpc.WaitForHandlers(true), grpc.ReadBufferSize(socketBuffer), grpc.WriteBufferSize(socketBuffer), grpc.StatsHandler(connections{}),
		experimental.BufferPool(recycle.Buffers)), nil
}

// listen opens the port of this process. A restarted process may have to wait for it.
func (s *settings) listen(ctx context.Context, address string) (net.Listener, error) {
	if s.Listener != nil {
		return &patient{Listener: s.Listener, s: s}, nil
	}
	l, err := ports.Listen(ctx, address, min(ports.Patience, s.JoinTimeout))
	if err != nil {
		return nil, fmt.Errorf("parameterserver: %v cannot listen on its address: %w", s.task, err)
	}
	return &patient{Listener: l, s: s}, nil
}

// opened is a connection and the time it was opened, or the reason why this process cannot open one.
type opened struct {
	net.Conn
	since  time.Time
	scarce error
}

// dial makes a connection. It sets alien if a process without the job's secret is at that address, and made, if it is
// not nil, to the network connection.
func (s *settings) dial(to cluster.Member, alien *atomic.Bool, made *atomic.Pointer[opened]) (*grpc.ClientConn, error) {
	_, creds, err := s.credentials()
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err = s.noteDial(to, err); made != nil && (err == nil || ports.Exhausted(err)) {
			made.Store(&opened{conn, time.Now(), err})
		}
		if err != nil || s.Security != nil {
			return conn, err
		}
		return proof.Shut(conn, alien), nil
	}
	return grpc.NewClient("passthrough:///"+to.Address, grpc.WithTransportCredentials(proof.Watch(creds, alien)), grpc.WithContextDialer(dial), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithIdleTimeout(0),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(4*window), grpc.WithReadBufferSize(socketBuffer), grpc.WithWriteBufferSize(socketBuffer), experimental.WithBufferPool(recycle.Buffers),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 2 * time.Second}))
}

// introduce adds the caller's identity to a call.
func (s *settings) introduce(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, keyJob, strconv.FormatUint(s.job, 16), keyVersion, strconv.Itoa(s.speaks()))
}

// recognize refuses callers of other jobs and versions.
func (s *settings) recognize(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	one := func(key string) string {
		if v := md.Get(key); len(v) == 1 {
			return v[0]
		}
		return "none"
	}
	if v := one(keyVersion); v != strconv.Itoa(s.speaks()) {
		return status.Errorf(codes.FailedPrecondition, "%v speaks version %d of the protocol, the caller version %.20s; run the same program everywhere", s.task, s.speaks(), v)
	}
	if j := one(keyJob); j != strconv.FormatUint(s.job, 16) {
		return status.Errorf(codes.FailedPrecondition, "%v belongs to another job; give all processes the same cluster and Options.Job", s.task)
	}
	return nil
}

// ServerError says that a parameter server is lost.
type ServerError struct {
	Task    string // "ps:1"
	Address string
	Silent  time.Duration // how long nothing came
	Err     error

	late   string // what else it may mean
	scarce error  // why this process cannot open a connection to it, and what to do
}

// Error names the server.
func (e *ServerError) Error() string {
	if e.scarce != nil {
		return fmt.Sprintf("parameterserver: for %v %v", e.Silent.Round(time.Millisecond), e.scarce)
	}
	return fmt.Sprintf("parameterserver: %s at %s has not answered for %v: %v; start it again with the same Directory, then the job goes on%s", e.Task, e.Address, e.Silent.Round(time.Millisecond), e.Err, e.late)
}

// Unwrap returns the error of the last attempt.
func (e *ServerError) Unwrap() error { return e.Err }

// ErrStateLost says that a server came back without its variables.
var ErrStateLost = errors.New("it was started again without its variables; set Options.Directory so that servers keep them, or start the whole job again from a checkpoint")
