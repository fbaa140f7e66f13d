package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// docs/cuda_operations.md is up to date, and has every operation once.
func TestTable(t *testing.T) {
	var now bytes.Buffer
	write(&now)
	kept, err := os.ReadFile("../../../../../docs/cuda_operations.md")
	require.NoError(t, err)
	require.Equal(t, now.String(), string(kept), "go run ./kernels/cuda/internal/lower/table > docs/cuda_operations.md")
	for _, op := range ir.Ops() {
		require.Equal(t, 1, strings.Count(now.String(), "`"+op.String()+"`"), "%v", op)
	}
}
