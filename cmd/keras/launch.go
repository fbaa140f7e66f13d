package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// launchFlags are the flags of the launch command.
type launchFlags struct {
	workers, restarts, minWorkers int
	servers                       int // parameter servers; then there is a coordinator too
	replicas                      int // of each variable; 0: what the program says
	evaluator                     bool
	grace                         time.Duration
	devices                       int      // GPUs of each worker; 0: what the environment says
	cards                         []string // their names, worker by worker
}

func newLaunch() *cobra.Command {
	var f launchFlags
	c := &cobra.Command{
		Use:   "launch -n WORKERS -- PROGRAM [ARGUMENTS]",
		Short: "Start a program as a cluster of workers on this machine",
		Long: "Start a program several times as the workers of one job: TF_CONFIG tells each who it is and where the others are, and KERAS_SECRET\n" +
			"is a text that only they know, from which keras fit derives certificates, so that no other program can join. Unless GOMAXPROCS is\n" +
			"set, each worker is told to use its share of this machine's processors. Lines of their output begin with the worker's name. A worker\n" +
			"that fails is started again, up to --restarts times for each, and so is one that is frozen while the others miss it; when it stays away\n" +
			"the job goes on while --min-workers are left. With --evaluator one process more is started, whose task in TF_CONFIG is to evaluate what\n" +
			"the workers write: the evaluator of an Estimator. It ends by itself.\n" +
			"With --ps the job has so many parameter servers (tasks ps) and a coordinator (task chief) beside the workers; see docs/parameter_server.md.\n" +
			"The servers keep their variables in a folder of the launcher's, so that one that fails and is started again goes on; what fails is started\n" +
			"again three times if --restarts is not given, and the job goes on while one worker is left if --min-workers is not. With --replicas 2 each\n" +
			"variable lies in the memory of two servers instead, of which one may fail without a pause.\n" +
			"Ctrl-C and SIGTERM are passed on, so that the workers save what they have and end, with\n" +
			"status 75 where the same command goes on later; a second signal is passed on too, which ends them at once, and what has not ended\n" +
			"after --grace is killed; parameter servers are told when the others have ended. The status is 0, or 75 where the workers were stopped so, or 1. A worker with status 75 is not started again,\n" +
			"nor one of the keras command that finds its command line wrong.",
		Example: "  keras launch -n 3 -- ./train --epochs 5\n  keras launch -n 3 --restarts 2 --min-workers 2 -- ./train --backup backups\n" +
			"  keras launch --ps 2 --workers 3 -- ./recommend\n  keras launch -n 8 --devices-per-worker 1 -- ./train",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("launch: no program given; %s --help shows an example", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.workers < 1 || f.restarts < 0 || f.minWorkers < 0 || f.minWorkers > f.workers {
				return usagef("launch: -n %d, --restarts %d, --min-workers %d: expected at least one worker, and at most as many as there are", f.workers, f.restarts, f.minWorkers)
			}
			if f.servers < 0 {
				return usagef("launch: --ps %d: expected at least 1, or 0 for none", f.servers)
			}
			if f.replicas < 0 || f.replicas > 2 || f.replicas == 2 && f.servers < 2 {
				return usagef("launch: --replicas %d, --ps %d: expected one copy of each variable, or two on at least two servers", f.replicas, f.servers)
			}
			if f.servers > 0 && !c.Flags().Changed("restarts") {
				f.restarts = 3
			}
			if f.servers > 0 && f.minWorkers == 0 {
				f.minWorkers = 1
			}
			if f.devices < 0 {
				return usagef("launch: --devices-per-worker %d: expected at least 1, or 0 for what %s says", f.devices, devicesVariable)
			}
			if err := f.shareDevices(); err != nil {
				return err
			}
			return f.run(c.Context(), args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	s := c.Flags()
	s.IntVarP(&f.workers, "workers", "n", 2, "number of workers")
	s.IntVar(&f.restarts, "restarts", 0, "how often a worker that fails is started again")
	s.IntVar(&f.minWorkers, "min-workers", 0, "workers that must be left for the job to go on (default all)")
	s.IntVar(&f.servers, "ps", 0, "number of parameter servers, with a coordinator beside the workers")
	s.IntVar(&f.replicas, "replicas", 0, "parameter servers that hold each variable, 1 or 2 (default 1, or what the program says)")
	s.BoolVar(&f.evaluator, "evaluator", false, "start an evaluator beside the workers")
	s.DurationVar(&f.grace, "grace", 10*time.Second, "time that workers have to end after a signal")
	s.IntVar(&f.devices, "devices-per-worker", 0, "GPUs that each worker sees, of its own ("+devicesVariable+")")
	s.SetInterspersed(false) // what follows the program is the program's
	return c
}

// ended is the result of one run of a worker.
type ended struct {
	worker int
	err    error
}

// run starts the workers and waits for all of them.
func (f *launchFlags) run(ctx context.Context, command []string, stdout, stderr io.Writer) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	spec, err := localCluster(f.workers, f.servers)
	if err != nil {
		return err
	}
	tasks := f.tasks()
	n := len(tasks)
	l := &launcher{launchFlags: f, command: command, spec: spec, tasks: tasks, secret: collective.NewSecret(), ends: make(chan ended), told: make(chan report),
		running: make([]*exec.Cmd, n), starts: make([]int, n), joined: make([]time.Time, n), silent: make([]bool, n), refused: make([]bool, n)}
	l.out, l.err = &lineWriter{w: stdout}, &lineWriter{w: stderr}
	if f.servers > 0 && os.Getenv(parameterserver.DirectoryVariable) == "" {
		if l.directory, err = os.MkdirTemp("", "keras-ps-"); err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		defer os.RemoveAll(l.directory)
	}
	if f.servers > 0 {
		if err := l.noteEnd(); err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(l.over))
	}
	for i := range n {
		if err := l.start(i); err != nil {
			l.signal(syscall.SIGKILL)
			l.drain()
			return err
		}
	}
	return l.wait(ctx)
}

// computing is the number of processes that compute all the time; parameter servers and their coordinator mostly wait.
func (f *launchFlags) computing() int {
	if f.evaluator {
		return f.workers + 1
	}
	return f.workers
}

// tasks lists the processes: the workers first.
func (f *launchFlags) tasks() []cluster.Task {
	var all []cluster.Task
	add := func(job string, n int) {
		for i := range n {
			all = append(all, cluster.Task{Type: job, Index: i})
		}
	}
	add(cluster.Worker, f.workers)
	if f.evaluator {
		add(cluster.Evaluator, 1)
	}
	if f.servers > 0 {
		add(cluster.ParameterServer, f.servers)
		add(cluster.Chief, 1)
	}
	return all
}

// localCluster returns a cluster of workers on free ports of this machine, with a coordinator and parameter servers if
// there are any.
func localCluster(workers, servers int) (*cluster.Spec, error) {
	chiefs := min(servers, 1)
	addresses, err := ports.Free(workers + servers + chiefs)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	jobs := map[string][]string{cluster.Worker: addresses[:workers]}
	if servers > 0 {
		jobs[cluster.ParameterServer], jobs[cluster.Chief] = addresses[workers:workers+servers], addresses[workers+servers:]
	}
	return cluster.NewSpec(jobs)
}

// processorsVariable sets the number of processors that a Go program uses.
const processorsVariable = "GOMAXPROCS"

// launcher starts and supervises the workers.
type launcher struct {
	*launchFlags
	command   []string
	spec      *cluster.Spec
	tasks     []cluster.Task // of the processes
	secret    string         // of this job, so that no other program can join it
	directory string         // where parameter servers keep their variables; "": elsewhere
	over      string         // a file that exists when the coordinator of parameter servers has ended the job
	done      bool           // it has
	served    bool           // a server has ended well
	out, err  *lineWriter

	ends     chan ended
	told     chan report
	running  []*exec.Cmd // by task; nil: not running
	starts   []int       // of each
	joined   []time.Time // when each began to look for the others; zero: not yet
	silent   []bool      // a worker is missed by the others, and no restart is left for it
	refused  []bool      // it has said that its command line is wrong
	finished int         // workers that have ended well
	ending   bool        // a signal has come, or the job has failed
	owed     os.Signal   // that parameter servers have not been given yet; nil: there is none
}

// name returns the name of a process.
func (l *launcher) name(i int) string {
	switch t := l.tasks[i]; t.Type {
	case cluster.Worker:
		return "worker " + strconv.Itoa(t.Index)
	case cluster.ParameterServer:
		return "ps " + strconv.Itoa(t.Index)
	case cluster.Chief:
		return "coordinator"
	}
	return "evaluator"
}

// start runs the process of a task.
func (l *launcher) start(i int) error {
	task := l.tasks[i]
	config, err := cluster.FormatTFConfig(l.spec, task)
	if err != nil {
		return err
	}
	prefix := "[" + l.name(i) + "] "
	stdout, stderr := l.out.prefixed(prefix), l.err.prefixed(prefix)
	c := exec.Command(l.command[0], l.command[1:]...)
	c.Env = append(os.Environ(), cluster.TFConfigVariable+"="+config, restartsVariable+"="+strconv.Itoa(l.starts[i]))
	if os.Getenv(processorsVariable) == "" {
		c.Env = append(c.Env, processorsVariable+"="+strconv.Itoa(max(runtime.GOMAXPROCS(0)/l.computing(), 1)))
	}
	if os.Getenv(secretVariable) == "" {
		c.Env = append(c.Env, secretVariable+"="+l.secret)
	}
	if v := l.devicesOf(task); v != "" {
		c.Env = append(c.Env, v)
	}
	if l.directory != "" {
		c.Env = append(c.Env, parameterserver.DirectoryVariable+"="+l.directory)
	}
	if l.over != "" {
		if task.Type == cluster.Chief {
			_ = os.Remove(l.over) // of one that was killed when it had just said so; the servers go on
		}
		c.Env = append(c.Env, supervisor.OverVariable+"="+l.over)
	}
	if l.replicas > 0 {
		c.Env = append(c.Env, parameterserver.ReplicasVariable+"="+strconv.Itoa(l.replicas))
	}
	if l.finished > 0 {
		c.Env = append(c.Env, supervisor.FinishedVariable+"="+strconv.Itoa(l.finished))
	}
	c.Stdout, c.Stderr = stdout, stderr
	ownGroup(c)
	listen, err := l.connect(c, report{worker: i, start: l.starts[i] + 1})
	if err != nil {
		return err
	}
	err = c.Start()
	ears := listen(err == nil)
	if err != nil {
		return fmt.Errorf("launch: %s: %w", l.name(i), err)
	}
	l.running[i], l.joined[i], l.silent[i] = c, time.Time{}, false
	l.starts[i]++
	go func() {
		err := c.Wait()
		ears()
		stdout.flush()
		stderr.flush()
		l.ends <- ended{i, err}
	}()
	return nil
}

// waiting is the state of wait.
type waiting struct {
	term, late, kill <-chan time.Time
	failed           error
	decided          <-chan time.Time // when the coordinator is started again
	undecided        *ended           // how it ended before
	paused           bool             // a worker was stopped and has saved what it reached
	lost             int              // workers, of those that a job can do without
}

// wait returns when no worker is left.
func (l *launcher) wait(ctx context.Context) error {
	incoming := make(chan os.Signal, 4)
	signal.Notify(incoming, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(incoming)
	ends := ctx.Done()
	if ctx.Value(signals{}) != nil {
		ends = nil // it ends with a signal, which comes by itself
	}
	w := &waiting{}
	for l.left() > 0 || w.undecided != nil {
		if w.kill == nil && l.onlySilent() {
			w.kill = time.After(settled)
		}
		if l.onlyServers() {
			l.signalServers()
		}
		select {
		case <-w.late:
			l.signalServers()
		case s := <-incoming:
			l.stop(w, s)
		case <-ends:
			ends = nil
			l.stop(w, os.Interrupt)
		case <-w.term:
			l.signal(syscall.SIGTERM)
		case <-w.kill:
			l.signal(syscall.SIGKILL)
		case r := <-l.told:
			l.hear(r)
		case e := <-l.ends:
			l.workerEnded(w, e)
		case <-w.decided:
			e := *w.undecided
			w.decided, w.undecided = nil, nil
			l.again(w, e)
		}
	}
	if w.failed == nil && w.paused {
		return statusError{errors.New("launch: the workers were stopped and have saved what they reached; the same command goes on there"), statusStopped}
	}
	return w.failed
}

// stop asks the workers to end, and then the servers. A second signal goes to all at once.
func (l *launcher) stop(w *waiting, s os.Signal) {
	if l.ending {
		l.owed = nil
		l.signal(s)
		return
	}
	w.late, w.kill = time.After(l.grace/2), time.After(l.grace)
	l.ending, l.owed = true, s
	l.signalOthers(s)
}

// workerEnded restarts a worker, continues without it, or ends the job.
func (l *launcher) workerEnded(w *waiting, e ended) {
	l.running[e.worker] = nil
	switch {
	case e.err == nil:
		if e.worker < l.workers {
			l.finished++
		}
		l.jobDone(e)
		l.serverDone(w, e)
		return
	case isStatus(e.err, statusStopped):
		if w.paused = true; !l.ending { // a signal to one of them stops all, which need no other one
			l.ending = true
			w.term, w.kill = time.After(l.grace/2), time.After(l.grace)
		}
		return
	case l.ending:
		w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w", l.name(e.worker), e.err))
		return
	case l.mayBeOver(e):
		l.coordinatorEnded(w, e)
		return
	}
	l.again(w, e)
}

// again restarts a process that has failed, continues without it, or ends the job.
func (l *launcher) again(w *waiting, e ended) {
	if l.ending {
		w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w", l.name(e.worker), e.err))
		return
	}
	if (l.done || l.toldOver()) && l.tasks[e.worker].Type == cluster.Worker {
		fmt.Fprintf(l.err.prefixed("[launch] "), "%s ended: %v; the coordinator has ended the job, which needs it no more\n", l.name(e.worker), e.err)
		return
	}
	if l.refused[e.worker] { // all have the same one
		w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w; it refused its command line, so it is not started again", l.name(e.worker), e.err))
		l.stop(w, syscall.SIGTERM)
		return
	}
	if l.starts[e.worker] <= l.restarts {
		fmt.Fprintf(l.err.prefixed("[launch] "), "%s ended: %v; starting it again (%d of %d)\n", l.name(e.worker), e.err, l.starts[e.worker], l.restarts)
		if err := l.start(e.worker); err == nil {
			return
		}
	}
	switch l.tasks[e.worker].Type {
	case cluster.Chief, cluster.ParameterServer: // the others cannot do without it
		w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w; the job needs it, and no restart is left for it", l.name(e.worker), e.err))
		l.stop(w, syscall.SIGTERM)
		return
	case cluster.Evaluator: // the others can
		w.failed = keep(w.failed, fmt.Errorf("launch: %s: %w", l.name(e.worker), e.err))
		return
	}
	w.lost++
	if least := l.least(); l.workers-w.lost < least {
		w.failed = keep(w.failed, fmt.Errorf("launch: worker %d: %w; %d of %d workers are left, %d are needed", e.worker, e.err, l.workers-w.lost, l.workers, least))
		l.stop(w, syscall.SIGTERM)
	}
}

// isStatus reports whether a process ended with the given exit status.
func isStatus(err error, status int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == status
}

func keep(first, next error) error {
	if first != nil {
		return first
	}
	return next
}

// least is the smallest number of workers with which the job can run.
func (l *launcher) least() int {
	if l.minWorkers == 0 {
		return l.workers
	}
	return l.minWorkers
}

func (l *launcher) left() int {
	return len(slices.DeleteFunc(slices.Clone(l.running), func(c *exec.Cmd) bool { return c == nil }))
}

// signal passes a signal on to all workers.
func (l *launcher) signal(s os.Signal) {
	for _, c := range l.running {
		if c != nil {
			signalGroup(c, s)
		}
	}
}

// drain waits for the running workers.
func (l *launcher) drain() {
	for l.left() > 0 {
		select {
		case e := <-l.ends:
			l.running[e.worker] = nil
		case <-l.told:
		}
	}
}
