//go:build linux

package cuda

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// jobVariable holds the job of a worker, as JSON.
const jobVariable = "GOKERAS_CUDA_TEST_JOB"

func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var j gpuJob
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.work()
	}
	if err != nil {
		fmt.Println("worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// brief reports whether tests of many rounds take a part of them: with -short, and with SHORT, which make ci sets for
// suites that take long. Tests that start processes are left out by -short alone.
func brief() bool { return testing.Short() || os.Getenv("SHORT") != "" }
