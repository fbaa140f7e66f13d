package background

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTask(t *testing.T) {
	failed, goOn := errors.New("failed"), make(chan struct{})
	task := Run(func() error { <-goOn; return failed })
	require.False(t, task.Done())
	ended, end := context.WithCancel(context.Background())
	end()
	require.ErrorIs(t, task.Wait(ended), context.Canceled, "ctx ends the waiting, not the task")
	close(goOn)
	require.ErrorIs(t, task.Wait(context.Background()), failed)
	require.True(t, task.Done())
}
