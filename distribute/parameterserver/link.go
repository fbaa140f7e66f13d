package parameterserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// link is the way to one server. Every call may be repeated, so it is, until the server answers or has been lost for too long.
type link struct {
	s        *settings
	member   cluster.Member
	conn     *grpc.ClientConn
	identity atomic.Uint64 // of its state; 0: not known yet
	lost     atomic.Bool
}

// slowestBytes is the speed, in bytes a second, below which a server counts as lost.
const slowestBytes = 20 << 20

// call sends a request and returns the answer.
func (l *link) call(ctx context.Context, method string, request []byte, patience time.Duration) (*protocol.Reader, error) {
	began, pause := time.Now(), 5*time.Millisecond
	for {
		limit := l.s.Deadline + time.Duration(len(request))*time.Second/slowestBytes
		attempt, cancel := context.WithTimeout(l.s.introduce(ctx), limit)
		var out message
		err := l.conn.Invoke(attempt, "/"+serverService+"/"+method, &message{request}, &out)
		cancel()
		if err == nil {
			if l.lost.Swap(false) {
				l.s.Observe(fmt.Sprintf("%v at %s answers again after %v", l.member.Task, l.member.Address, time.Since(began).Round(time.Millisecond)))
			}
			return l.answer(out.data)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		default:
			return nil, fmt.Errorf("parameterserver: %v at %s: %s", l.member.Task, l.member.Address, status.Convert(err).Message())
		}
		silent := time.Since(began)
		if silent > patience {
			return nil, &ServerError{Task: l.member.Task.String(), Address: l.member.Address, Silent: silent, Err: errors.New(status.Convert(err).Message())}
		}
		if (status.Code(err) == codes.DeadlineExceeded || silent > l.s.Deadline) && !l.lost.Swap(true) {
			l.s.Observe(fmt.Sprintf("%v at %s has not answered for %v; waiting up to %v for it", l.member.Task, l.member.Address, silent.Round(time.Millisecond), patience))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// answer takes an answer apart. A server with another state than before has lost what was on it.
func (l *link) answer(b []byte) (*protocol.Reader, error) {
	if len(b) < headerBytes {
		return nil, fmt.Errorf("%w: an answer of %d bytes", protocol.ErrMessage, len(b))
	}
	identity := binary.LittleEndian.Uint64(b)
	if known := l.identity.Swap(identity); known != 0 && known != identity {
		l.identity.Store(known)
		return nil, fmt.Errorf("parameterserver: %v at %s: %w", l.member.Task, l.member.Address, ErrStateLost)
	}
	r := protocol.NewReader(b)
	r.Skip(headerBytes)
	switch b[8] {
	case answered:
		return r, nil
	case stale:
		return nil, fmt.Errorf("%w: %v: %s", protocol.ErrStale, l.member.Task, r.String())
	}
	return nil, errors.New(r.String())
}
