package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
)

// statusStopped is the exit status of a run that a signal has stopped and that the same command resumes. It is
// EX_TEMPFAIL of sysexits.h: try again later.
const statusStopped = 75

// statusError is an error with its own exit status.
type statusError struct {
	error
	status int
}

// workerFlags are those of fit under the strategy multiworker.
type workerFlags struct {
	elastic string
	securityFlags
}

// parseElastic reads MIN:MAX; either may be missing.
func parseElastic(text string) (*distribute.Elastic, error) {
	if text == "" {
		return nil, nil
	}
	least, most, _ := strings.Cut(text, ":")
	var e distribute.Elastic
	for i, word := range []string{least, most} {
		if word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, usagef("fit: --elastic %s: expected MIN:MAX, the fewest and the most workers to train with, such as 2:4", text)
		}
		*[]*int{&e.Min, &e.Max}[i] = n
	}
	if e.Max > 0 && e.Min > e.Max {
		return nil, usagef("fit: --elastic %s: the fewest workers are more than the most", text)
	}
	return &e, nil
}

// placeOnWorkers makes the strategy of one worker of several.
func (f *fitFlags) placeOnWorkers(ctx context.Context) (*distribute.MultiWorkerMirroredStrategy, error) {
	elastic, err := parseElastic(f.elastic)
	if err != nil {
		return nil, err
	}
	security, err := f.security()
	if err != nil {
		return nil, err
	}
	return multiworker.NewStrategy(ctx, multiworker.Options{Devices: f.devices, Elastic: elastic, Security: security, Observe: func(text string) {
		if strings.HasPrefix(text, "waiting up to ") { // for a group; what else there is to say, Fit's errors do
			fmt.Fprintln(os.Stderr, "keras fit:", text)
		}
	}})
}

// chiefWriter writes only on the chief of the workers, which may change.
type chiefWriter struct {
	io.Writer
	isChief func() bool
}

// Write implements io.Writer.
func (w chiefWriter) Write(b []byte) (int, error) {
	if !w.isChief() {
		return len(b), nil
	}
	return w.Writer.Write(b)
}

// Fd returns that of the underlying file, by which the progress bar recognizes a terminal.
func (w chiefWriter) Fd() uintptr {
	if f, ok := w.Writer.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0) // no file
}

// stopped reports whether Fit ended because a signal asked this worker or another one to stop.
func stopped(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, callbacks.ErrStopped))
}

// errStoppedBefore returns the error of a run that was stopped while its worker waited for the others.
func (f *fitFlags) errStoppedBefore() error {
	err := errors.New("interrupted while waiting for the other workers; nothing was written")
	if f.backup == "" {
		return err
	}
	return statusError{fmt.Errorf("%w; the same command goes on where the job's backup is", err), statusStopped}
}

// late ends a worker that joined after the others had left. If the run ended well, they have removed the backup.
func (f *fitFlags) late(c *cobra.Command, err error) error {
	there := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(path...))
		return err == nil
	}
	switch {
	case f.backup != "" && there(f.backup, "latest.weights.npz"):
		return statusError{fmt.Errorf("%w; they were stopped: the same command goes on where the backup in %s is", err, f.backup), statusStopped}
	case f.backup != "" && there(f.output):
		fmt.Fprintf(c.ErrOrStderr(), "the others have finished without this worker, and written %s\n", f.output)
		return nil
	}
	return err
}

// errStopped returns the error of a run that was stopped.
func (f *fitFlags) errStopped() error {
	if f.backup == "" {
		return fmt.Errorf("interrupted; wrote what was reached to %s", f.output)
	}
	return statusError{fmt.Errorf("interrupted; wrote what was reached to %s and a backup to %s; the same command goes on there", f.output, f.backup), statusStopped}
}
