// Command keras works with Keras models from the command line: it shows, runs, trains, converts and draws them. It
// needs no Python.
//
//	keras summary  model.keras
//	keras predict  model.keras --x images.npy --output scores.npy
//	keras evaluate model.keras --x images.npy --y labels.npy --json
//	keras fit      model.keras --x images.npy --y labels.npy --epochs 3 --output trained.keras
//	keras convert  model.keras model.onnx
//	keras plot     model.keras model.svg
//	keras devices
//	keras bench    model.keras
//	keras profile  model.keras
//	keras compile  model.keras --target v5e:2x2
//	keras launch   -n 3 -- ./train
//	keras secret
//
// The exit status is 0, or 1 with one line on standard error, or 2 if the command line is wrong, or 75 if a signal has
// stopped a training run that the same command can resume.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/internal/supervisor"
)

func main() { os.Exit(runUntilSignal(os.Args[1:])) }

// runUntilSignal calls run. Ctrl-C and SIGTERM end the work after the current step; a second signal ends the program.
func runUntilSignal(args []string) int {
	ctx, stop := signal.NotifyContext(context.WithValue(context.Background(), signals{}, true), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return run(ctx, args, os.Stdout, os.Stderr)
}

// signals marks a context that ends with a signal.
type signals struct{}

// usageError says that the command line itself is wrong.
type usageError struct{ error }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		if r := recover(); r != nil { // a defect; the user still gets one line
			fmt.Fprintln(stderr, "keras: internal error:", oneLine(fmt.Sprint(r)))
			status = 1
		}
	}()
	root := newCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	text := oneLine(err.Error())
	if !strings.HasPrefix(text, "keras: ") {
		text = "keras: " + text
	}
	fmt.Fprintln(stderr, text)
	if u := (usageError{}); errors.As(err, &u) {
		supervisor.Refused()
		return 2
	}
	if s := (statusError{}); errors.As(err, &s) {
		return s.status
	}
	return 1
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "keras",
		Short: "Show, run, train, convert and draw models of Keras",
		Long: "Show, run, train, convert and draw models of Keras.\n\nModels are .keras files (also of Keras 2.15), whole-model .h5 files, or unzipped .keras folders.\n" +
			"Arrays are .npy, .npz or .csv files; file.npz:key picks one array of an archive.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no command given; keras --help lists them")
			}
			return usagef("unknown command %q%s; keras --help lists all", args[0], suggestion(c, args[0]))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s: %w; %s --help shows the flags", c.Name(), err, c.CommandPath())
	})
	root.AddCommand(newSummary(), newPredict(), newEvaluate(), newFit(), newConvert(), newPlot(), newDevices(), newBench(), newProfile(), newCompile(), newLaunch(), newSecret())
	return root
}

func suggestion(c *cobra.Command, word string) string {
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// exactly checks the number of arguments that are not flags.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		expected := strings.Join(names, " ")
		if expected == "" {
			expected = "none"
		}
		return usagef("%s: received %d arguments %q, expected %s; %s --help shows an example", c.Name(), len(args), args, expected, c.CommandPath())
	}
}

// required reports the flags among names that were not given.
func required(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if !c.Flags().Changed(name) {
			return usagef("%s: --%s is missing; %s --help shows an example", c.Name(), name, c.CommandPath())
		}
	}
	return nil
}
