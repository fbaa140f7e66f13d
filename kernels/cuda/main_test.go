//go:build linux

package cuda

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
)

// jobVariable holds the job of a worker, as JSON.
const jobVariable = "GOKERAS_CUDA_TEST_JOB"

func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		flag.Parse()
		if os.Getenv("SHORT") != "" { // as make ci asks of suites that it takes a part of
			if err := flag.Set("test.short", "true"); err != nil {
				panic(err)
			}
		}
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
