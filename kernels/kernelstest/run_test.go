package kernelstest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// A faithful backend passes the whole suite.
func TestRunPasses(t *testing.T) {
	kernelstest.Run(t, &fake{}, kernels.Device{Kind: "fake"})
}

const faultVariable = "KERNELSTEST_FAULT"

// Every kind of check can fail: the suite is run in a process of its own on backends that go wrong.
func TestRunFails(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultyBackend$/^"+fault.where+"$")
			command.Env = append(os.Environ(), faultVariable+"="+name)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the suite passed: %s", output)
			assert.Contains(t, string(output), "FAIL: TestFaultyBackend")
		})
	}
}

// TestFaultyBackend is what TestRunFails runs.
func TestFaultyBackend(t *testing.T) {
	name := os.Getenv(faultVariable)
	if name == "" {
		t.Skip("broken on purpose: run by TestRunFails only")
	}
	fault, ok := faults[name]
	require.True(t, ok)
	kernelstest.Run(t, &fault.fake, kernels.Device{Kind: "fake"})
}

// Every op has a case.
func TestCoverage(t *testing.T) {
	covered := kernelstest.Covered()
	for _, op := range ir.Ops() {
		assert.True(t, covered[op], "op %v has no case", op)
	}
}
