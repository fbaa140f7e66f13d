package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// counter notes how many steps have ended, in a file that is 8 bytes long.
type counter struct {
	callbacks.Base
	path         string
	epoch, steps int
	file         *os.File
}

// OnEpochBegin remembers the epoch.
func (c *counter) OnEpochBegin(epoch int) (err error) {
	c.epoch = epoch
	if c.file == nil {
		c.file, err = os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o644)
	}
	return err
}

// OnTrainBatchEnd replaces the note.
func (c *counter) OnTrainBatchEnd(batch int, logs *callbacks.Logs) error {
	_, err := c.file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(c.epoch*c.steps+batch+1)), 0)
	return err
}

// ended is how many steps have ended.
func (c *chaos) ended() int {
	b, err := os.ReadFile(filepath.Join(c.dir, "steps"))
	if err != nil || len(b) < 8 {
		return 0
	}
	return int(binary.LittleEndian.Uint64(b))
}

// wait waits for something and returns how long that took since began.
func (c *chaos) wait(clock *fairclock.Clock, what string, done func() bool) time.Duration {
	began := clock.Elapsed()
	for !done() {
		if clock.Elapsed()-began > time.Minute {
			c.dump()
			c.t.Fatalf("%s: nothing happens for a minute", what)
		}
		time.Sleep(time.Millisecond)
	}
	return clock.Elapsed() - began
}

// step waits for a step that began after now: those that were open before may still end.
func (c *chaos) step(clock *fairclock.Clock, what string) time.Duration {
	open := 8 * 3
	if c.synchronous {
		open = 1
	}
	from := c.ended()
	return c.wait(clock, what, func() bool { return c.ended() > from+open })
}

// kill ends a task at once; with again it is started again at once, as a supervisor does.
func (c *chaos) kill(name string, again bool) {
	p := c.tasks[name]
	require.NoError(c.t, p.command.Process.Kill(), "%s has ended: %s", name, p.out.String())
	_ = p.command.Wait() // it was killed
	if again {
		c.again(name)
	}
}

func (c *chaos) again(name string) {
	c.tasks[name] = start(c.t, c.spec, c.tasks[name].Task, c.dir, c.kind)
}

// freeze stops a task until the returned function is called.
func (c *chaos) freeze(name string) (thaw func()) {
	process := c.tasks[name].command.Process
	require.NoError(c.t, process.Signal(syscall.SIGSTOP))
	return func() { require.NoError(c.t, process.Signal(syscall.SIGCONT)) }
}

// said reports how often tasks have said something.
func (c *chaos) said(words ...string) (n int) {
	for _, p := range c.tasks {
		for line := range strings.SplitSeq(p.out.String(), "\n") {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				n++
			}
		}
	}
	return n
}

// faultTable is what TestFaultTimes measures: an event, and within which time the job goes on.
var faultTable = []struct {
	name, mode string
	limit      time.Duration
	happens    func(c *chaos, clock *fairclock.Clock, server string) time.Duration
}{
	{"F6 a server is killed and started again, asynchronous", "asynchronous", 3 * time.Second, serverKilled},
	{"F6 a server is killed and started again, synchronous", "synchronous", 3 * time.Second, serverKilled},
	{"F6 a server is killed and does not come back, two copies", "asynchronous copies", 3 * time.Second, serverLost},
	{"F7 a server is frozen: it is named", "asynchronous", faultDeadline + 2*time.Second, func(c *chaos, clock *fairclock.Clock, server string) time.Duration {
		thaw := c.freeze(server)
		defer thaw()
		before := c.said(server, "has not answered for")
		return c.wait(clock, "a frozen server", func() bool { return c.said(server, "has not answered for") > before })
	}},
	{"F7 a worker is frozen: others make its step", "synchronous", faultDeadline + 2*time.Second, func(c *chaos, clock *fairclock.Clock, server string) time.Duration {
		defer c.freeze("worker:1")()
		return c.step(clock, "a frozen worker")
	}},
	{"F8 a worker is killed and started again", "synchronous", 3 * time.Second, func(c *chaos, clock *fairclock.Clock, server string) time.Duration {
		c.kill("worker:1", true)
		return c.step(clock, "a killed worker")
	}},
	{"F9 the coordinator is killed and started again, asynchronous", "asynchronous", 2 * time.Second, coordinatorKilled},
	{"F9 the coordinator is killed and started again, synchronous", "synchronous", 2 * time.Second, coordinatorKilled},
}

// faultDeadline is Options.Deadline in TestFaultTimes.
const faultDeadline = time.Second

func serverKilled(c *chaos, clock *fairclock.Clock, server string) time.Duration {
	c.kill(server, true)
	return c.step(clock, "a killed server")
}

func serverLost(c *chaos, clock *fairclock.Clock, server string) time.Duration {
	c.doubled()
	c.kill(server, false)
	took := c.step(clock, "a lost server")
	c.again(server)
	c.doubled()
	return took
}

func coordinatorKilled(c *chaos, clock *fairclock.Clock, server string) time.Duration {
	c.kill("chief:0", true)
	return c.step(clock, "a killed coordinator")
}

// TestFaultTimes measures how soon a job of real processes goes on after a fault, by a clock that stands still while
// this process cannot run. Limits are those of a machine with nothing else to do, so exceeding one is only logged; a
// job that does not go on within a minute fails.
func TestFaultTimes(t *testing.T) {
	if *faults == 0 || runtime.GOOS != "linux" {
		t.Skip("on Linux, with -faults: see make chaos-ps")
	}
	for _, row := range faultTable {
		t.Run(row.name, func(t *testing.T) {
			c := startChaos(t, row.mode+" count", forever)
			clock := fairclock.Start()
			defer clock.Stop()
			c.wait(clock, "the start", func() bool { return c.ended() > 0 })
			r := rand.New(rand.NewPCG(*schedule, 5))
			var all []time.Duration
			for i := range 7 {
				c.step(clock, "before the next fault")
				time.Sleep(time.Duration(100+r.IntN(300)) * time.Millisecond)
				all = append(all, row.happens(c, clock, cluster.Task{Type: cluster.ParameterServer, Index: i % 2}.String()).Round(time.Millisecond))
			}
			slices.Sort(all)
			verdict := "within"
			if all[len(all)-1] > row.limit {
				verdict = "NOT within"
			}
			t.Logf("median %v, most %v of %d: %s the limit of %v", all[len(all)/2], all[len(all)-1], len(all), verdict, row.limit)
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "enough"), nil, 0o644))
			c.end()
		})
	}
}
