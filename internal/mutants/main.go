// Command mutants breaks the numeric core in one place at a time (a constant, a sign, a comparison, the order of
// operands, a tail), runs the tests of the package and reports the changes that no test noticed. A survivor is a hole
// in the tests, or a change that changes nothing.
//
//	go run ./internal/mutants -n 60
//
// Each place has a number; -from resumes at one, -only selects those whose text contains a string. The places are those
// listed in curated.go and, up to the requested number, places drawn by -seed from the syntax trees of the packages in
// targets.go. Nothing is written into the tree: the compiler gets the changed file as an overlay.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 60, "number of places to break")
	seed := flag.Uint64("seed", 1, "which places are drawn")
	from := flag.Int("from", 1, "number of the first place")
	only := flag.String("only", "", "take places whose text contains this")
	list := flag.Bool("list", false, "show the places and run nothing")
	limit := flag.Duration("timeout", 10*time.Minute, "time for the tests of one place")
	flag.Parse()
	survivors, err := run(*n, *seed, *from, *only, *list, *limit)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case survivors > 0:
		os.Exit(1)
	}
}

func run(n int, seed uint64, from int, only string, list bool, limit time.Duration) (survivors int, err error) {
	places, err := choose(".", n, seed)
	if err != nil {
		return 0, err
	}
	seen := 0
	for i, m := range places {
		if i+1 < from || !strings.Contains(m.String(), only) {
			continue
		}
		if list {
			fmt.Printf("%3d  %v\n", i+1, m)
			continue
		}
		if why, ok := equivalent[m.key()]; ok {
			fmt.Printf("%3d  %-9s %5.0fs  %v: %s\n", i+1, "same", 0.0, m, why)
			continue
		}
		begin := time.Now()
		verdict, err := m.try(limit)
		if err != nil {
			return survivors, fmt.Errorf("%v: %w", m, err)
		}
		fmt.Printf("%3d  %-9s %5.0fs  %v\n", i+1, verdict, time.Since(begin).Seconds(), m)
		switch verdict {
		case survived, late:
			survivors++
			seen++
		case killed:
			seen++
		}
	}
	if !list {
		fmt.Printf("%d places broken, %d survivors or late ones\n", seen, survivors)
	}
	return survivors, nil
}

// Verdicts on a change.
const (
	killed   = "killed"
	survived = "SURVIVED"
	invalid  = "invalid" // does not compile
	late     = "LATE"    // the time was over: tests hang, and so have noticed, or the machine is slow; try the place again with more time
)

// try runs the tests with the change.
func (m mutant) try(limit time.Duration) (string, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.text, 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	description := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(description, overlay, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, t := range m.target.tests {
		arguments := append([]string{"test", "-vet=off", "-short", "-failfast", "-overlay", description}, strings.Fields(t)...)
		command := exec.CommandContext(ctx, "go", arguments...)
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		command.WaitDelay = 10 * time.Second
		output, err := command.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case strings.Contains(string(output), "[build failed]") || strings.Contains(string(output), "[setup failed]"):
			return invalid, nil
		case ctx.Err() != nil:
			return late, nil
		case errors.As(err, &exit):
			return killed, nil
		case err != nil:
			return "", err
		}
	}
	return survived, nil
}
