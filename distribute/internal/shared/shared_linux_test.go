package shared

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestShared(t *testing.T) {
	own, err := New(1000)
	require.NoError(t, err)
	other, err := Open(own.Note())
	require.NoError(t, err)
	require.Len(t, own.Bytes, 1000)
	require.Len(t, other.Bytes, 1000)
	copy(own.Bytes[990:], "0123456789")
	require.Equal(t, "0123456789", string(other.Bytes[990:]))
	require.Error(t, unix.Ftruncate(own.file, 10), "who has mapped it would be killed")
	own.Close()
	own.Close()
	require.Equal(t, "0123456789", string(other.Bytes[990:]))
	other.Close()
	_, err = New(-1 << 20)
	require.Error(t, err)
}

// TestForeign: only the memory that a note means is mapped, whatever the note says.
func TestForeign(t *testing.T) {
	own, err := New(100)
	require.NoError(t, err)
	defer own.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	note := own.Note()
	secret := note[strings.LastIndexByte(note, ' ')+1:]
	for _, bad := range []string{
		"", "x", "1", "-1 3 " + secret, fmt.Sprintf("%d %d %s", os.Getpid(), file.Fd(), secret), fmt.Sprintf("%d 9999 %s", os.Getpid(), secret),
		note[:len(note)-1], note[:len(note)-2] + "0000", strings.Replace(note, secret, "0000000000000000", 1), "999999999 3 " + secret,
	} {
		_, err := Open(bad)
		require.Error(t, err, bad)
	}
}
