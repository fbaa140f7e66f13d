package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/collective"
)

func TestSecret(t *testing.T) {
	status, first, stderr := execute(t, "secret")
	require.Zero(t, status, stderr)
	_, second, _ := execute(t, "secret")
	require.NotEqual(t, first, second)
	require.Regexp(t, regexp.MustCompile("^[0-9a-f]{64}\n$"), first)
	t.Setenv(secretVariable, first) // with the end of the line, as a shell's read of a file may leave it
	security, err := (&securityFlags{}).security()
	require.NoError(t, err)
	require.Equal(t, &collective.Security{Secret: []byte(strings.TrimSpace(first))}, security)
	status, _, stderr = execute(t, "secret", "x")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "secret: received 1 arguments")
}
