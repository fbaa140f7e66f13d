package lastwords

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	require.EqualError(t, Of("keras: Fit", errors.New("boom\n\ngoroutine 7")), "keras: Fit: panic: boom")
	require.EqualError(t, Of("keras: Fit", nil), "keras: Fit: runtime.Goexit has ended its goroutine")
	var end interface{ Withdraws() bool }
	require.ErrorAs(t, error(Of("", 1)), &end)
	require.True(t, end.Withdraws())
}
