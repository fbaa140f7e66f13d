package multiworker_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs on one machine do not link gRPC: what they import does without it.
func TestOneMachineDoesWithoutGRPC(t *testing.T) {
	const grpc = "google.golang.org/grpc\n"
	deps := func(pkg string) string {
		out, err := exec.Command("go", "list", "-deps", "github.com/gokeras/gokeras/"+pkg).Output()
		require.NoError(t, err)
		return string(out)
	}
	require.NotContains(t, deps("keras"), grpc)
	require.Contains(t, deps("distribute/multiworker"), grpc, "the test looks for the right name")
}
