package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrain(t *testing.T) {
	var out strings.Builder
	require.NoError(t, train(t.Context(), &out, 20_000, nil, nil))
	var accuracy float64
	var users, items int
	_, err := fmt.Sscanf(out.String(), "accuracy %f with %d users and %d items", &accuracy, &users, &items)
	require.NoError(t, err, out.String())
	require.Greater(t, accuracy, 0.85)
	require.Greater(t, users, 900)
	require.Greater(t, items, 350)
}
