package collective

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/fairclock"
)

func TestMapping(t *testing.T) {
	own, note, err := newMapping()
	require.NoError(t, err)
	defer own.close()
	other, err := openMapping(note)
	require.NoError(t, err)
	defer other.close()
	copy(own.input(1), "input")
	copy(own.output(1)[window-6:], "output")
	require.Equal(t, "input", string(other.input(1)[:5]))
	require.Equal(t, "output", string(other.output(1)[window-6:]))
	own.describe(1, &call{sequence: 3, hash: 4}, 5)
	sequence, hash, size := other.described(1)
	require.Equal(t, []uint64{3, 4, 5}, []uint64{sequence, hash, uint64(size)})

	woken := make(chan time.Duration)
	go func() {
		clock := fairclock.Start()
		defer clock.Stop()
		for other.counter() == 0 {
			other.sleep(0, 10*time.Second)
		}
		woken <- clock.Elapsed()
	}()
	time.Sleep(20 * time.Millisecond)
	own.publish()
	require.Less(t, <-woken, 5*time.Second)
	require.Equal(t, uint32(1), other.counter())
	other.sleep(0, 10*time.Second) // returns at once: the counter has moved on
}

// Only the memory that a note means is mapped, whatever the note says.
func TestForeignMapping(t *testing.T) {
	own, note, err := newMapping()
	require.NoError(t, err)
	defer own.close()
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	secret := note[strings.LastIndexByte(note, ' ')+1:]
	for _, bad := range []string{
		"", "x", "1", "-1 3 " + secret, fmt.Sprintf("%d %d %s", os.Getpid(), file.Fd(), secret), fmt.Sprintf("%d 9999 %s", os.Getpid(), secret),
		note[:len(note)-1], note[:len(note)-2] + "00" + "00", strings.Replace(note, secret, "0000000000000000", 1), "999999999 3 " + secret,
	} {
		_, err := openMapping(bad)
		require.Error(t, err, bad)
	}
}
