package parameterserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// Of two servers one has said that the job has ended. An answer of the other one to a call from before that says
// nothing of it; one to a later call does: the servers are those of a next job.
func TestLateAnswersAndTheEnd(t *testing.T) {
	s := &settings{task: cluster.Task{Type: cluster.Worker}, news: news{began: time.Now().Add(-2 * doubts)}}
	first, second := &link{s: s}, &link{s: s}
	asked := time.Now()
	over := status.Error(ended, "")
	require.True(t, first.ended(asked, over))
	require.True(t, second.ended(asked, nil), "asked before")
	second.back(asked, asked)
	require.True(t, s.news.believed(), "asked before")
	require.True(t, second.ended(time.Now(), status.Error(codes.Unavailable, "")), "the first one has said it, and the other one is gone")
	require.False(t, second.ended(time.Now(), nil), "asked afterwards")
	require.False(t, first.ended(time.Now(), status.Error(codes.Unavailable, "")), "the job goes on")
	require.True(t, first.ended(asked, over), "again")
}

// What a worker has just heard is doubted for a second, whatever it hears in it; then it counts.
func TestNewsOfTheEndIsDoubted(t *testing.T) {
	n := news{began: time.Now()}
	require.False(t, n.believed(), "nothing was heard")
	n.hasEnded() // in the moment in which it began to look
	require.False(t, n.believed(), "at once")
	n.began = n.began.Add(-doubts)
	require.True(t, n.believed(), "a second later")
	n.goesOn(n.began.Add(-time.Millisecond))
	require.True(t, n.believed(), "an answer from before")
	n.goesOn(n.began.Add(time.Duration(n.heard.Load())))
	require.False(t, n.believed(), "an answer of the same moment")
	n.goesOn(time.Now())
	require.False(t, n.believed(), "and nothing is heard since")
}

// Only workers take what a server says for the end, and other errors than those of a server that is gone say nothing.
func TestWhoHearsTheEnd(t *testing.T) {
	over := status.Error(ended, "")
	heard := func(kind string) *link {
		return &link{s: &settings{task: cluster.Task{Type: kind}, news: news{began: time.Now().Add(-2 * doubts)}}}
	}
	require.False(t, heard(cluster.Chief).ended(time.Now(), over))
	worker := heard(cluster.Worker)
	require.True(t, worker.ended(time.Now(), over))
	require.False(t, worker.ended(time.Now(), status.Error(codes.DeadlineExceeded, "")), "a server that is slow says nothing")
	require.True(t, worker.ended(time.Now(), status.Error(codes.Unavailable, "")))

	// Who has no time left to doubt believes at once, but for others than workers.
	_, err := worker.outOfPatience(worker, nil, time.Second, over)
	require.ErrorIs(t, err, parameters.ErrOver)
	left := make([]byte, headerBytes)
	left[9] = afterwards
	require.True(t, saidAfterwards(left))
	require.False(t, saidAfterwards(left[:9]))
	r, err := worker.last(left)
	require.NoError(t, err)
	require.NoError(t, r.End())
	var gone *ServerError
	_, err = worker.outOfPatience(worker, nil, time.Second, status.Error(codes.Unavailable, "gone"))
	require.ErrorAs(t, err, &gone)
	chief := heard(cluster.Chief)
	_, err = chief.outOfPatience(chief, nil, time.Second, over)
	require.ErrorAs(t, err, &gone)
}

// Servers stay for workers that were not told, unless there were none, or all know, or a program tells them itself.
func TestHowLongServersStay(t *testing.T) {
	c := &coordinator{s: &settings{workers: make([]cluster.Member, 2)}, devices: map[int]int{0: 1}, told: map[int]bool{0: true}}
	require.Equal(t, lingering, c.linger())
	c.told[1] = true
	require.Zero(t, c.linger(), "all know")
	delete(c.told, 1)
	c.devices = nil
	require.Zero(t, c.linger(), "nobody came")
	c.devices = map[int]int{1: 1}
	t.Setenv(supervisor.OverVariable, "x")
	require.Zero(t, c.linger(), "the program tells them")
}

// A server whose job goes on says nothing of an end and is not sent away; one that stays says it until it is.
func TestServersThatStay(t *testing.T) {
	s := &Server{settings: &settings{}, stopped: make(chan struct{}), dismissed: make(chan struct{})}
	dismiss := func() {
		md, _ := metadata.FromOutgoingContext(s.settings.introduce(t.Context()))
		ctx := metadata.NewIncomingContext(t.Context(), md)
		_, err := s.dismissal(nil, ctx, func(any) error { return nil }, nil)
		require.NoError(t, err)
	}
	stays := func() bool {
		left := make(chan bool)
		go func() { s.farewell(t.Context()); close(left) }()
		select {
		case <-left:
			return false
		case <-time.After(50 * time.Millisecond):
			return true
		}
	}
	require.NoError(t, s.goesOn())
	s.lingering.Store(int64(time.Hour))
	require.NoError(t, s.goesOn(), "not stopped")
	dismiss()
	require.True(t, stays(), "a job that goes on")
	close(s.stopped)
	require.Equal(t, ended, status.Code(s.goesOn()))
	s.lingering.Store(0)
	require.NoError(t, s.goesOn(), "nobody is to be told")
	s.lingering.Store(int64(time.Hour))
	require.True(t, stays())
	dismiss()
	require.False(t, stays())
	dismiss() // twice
}
