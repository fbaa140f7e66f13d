package parameterserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
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
