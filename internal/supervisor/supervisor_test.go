//go:build unix

package supervisor

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is said comes, and in order; what others write to the pipe is passed over.
func TestListen(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	r := newReporter(int(write.Fd()))
	require.NotNil(t, r)
	r.say(joining)
	r.say("nonsense")
	r.say(missing)
	r.say(missing + " x")
	r.say(missing + " -1")
	r.say(missing + " 2000000")
	r.say(missing + " 0 17")
	r.say(refused + " 1")
	r.say(refused)
	require.NoError(t, write.Close())
	var got []Event
	Listen(read, func(e Event) { got = append(got, e) })
	require.Equal(t, []Event{{Joining: true}, {Missing: []int{0, 17}}, {Refused: true}}, got)
	Listen(strings.NewReader(strings.Repeat("x", 1<<20)), func(Event) { t.Fatal("no event") })
}

// Nobody has to read: a worker never waits for its supervisor.
func TestFullPipe(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	r := newReporter(int(write.Fd()))
	for range 20_000 {
		r.say(missing + " 1")
	}
	require.NoError(t, read.Close())
	r.say(joining)
}

func TestOnlyPipes(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	require.Nil(t, newReporter(int(file.Fd())))
	require.Nil(t, newReporter(1))
	require.Nil(t, newReporter(1<<20))
	(*reporter)(nil).say("nothing happens")
	Joining() // no supervisor
	Missing([]int{1})
	Refused()
}
