//go:build unix

package multiworker_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/ports"
)

// faults is the number of faults of each run of TestChaos.
var faults = flag.Int("faults", 4, "faults in each run of TestChaos; 0: none")

// schedule is the seed of the faults of TestChaos.
var schedule = flag.Uint64("schedule", 1, "seed of the faults of TestChaos")

// chaos is a job under faults: this test is its launcher.
type chaos struct {
	t    *testing.T
	dir  string
	spec *cluster.Spec
	run  func(worker int, c *exec.Cmd) error // starts a process
	rng  *rand.Rand

	mu      sync.Mutex
	workers []*chaosProcess
	steps   map[int]time.Time // when a worker completed a step first
	last    int               // step
	reached []int             // last step of each worker
	groups  []string          // in which each worker is, as it said
	told    map[int][]string  // the groups in which a step was completed
	done    int               // workers that have ended well
	log     []string
}

// chaosProcess is one life of a worker.
type chaosProcess struct {
	cmd    *exec.Cmd
	killed bool
	ended  bool
}

func newChaos(t *testing.T, n int, c chaosConfig, seed uint64) *chaos {
	t.Helper()
	addresses, err := ports.Free(n)
	require.NoError(t, err)
	return startChaos(t, addresses, func(_ int, c *exec.Cmd) error { return c.Start() }, c, seed)
}

// startChaos starts one worker for each address.
func startChaos(t *testing.T, addresses []string, run func(worker int, c *exec.Cmd) error, c chaosConfig, seed uint64) *chaos {
	t.Helper()
	n := len(addresses)
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	j := &chaos{t: t, dir: t.TempDir(), spec: spec, run: run, rng: rand.New(rand.NewPCG(seed, 5)), workers: make([]*chaosProcess, n), steps: map[int]time.Time{}, reached: make([]int, n),
		groups: make([]string, n), told: map[int][]string{}}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(j.dir, chaosConfigFile), text, 0o666))
	for i := range n {
		j.start(i)
	}
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, p := range j.workers {
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			_ = p.cmd.Process.Kill()
		}
	})
	return j
}

func (j *chaos) result(i int) string { return filepath.Join(j.dir, fmt.Sprint("result", i)) }

// start begins a life of worker i. A worker that fails on its own is reported in the log, and started again as by a
// launcher.
func (j *chaos) start(i int) {
	config, err := cluster.FormatTFConfig(j.spec, cluster.Task{Type: cluster.Worker, Index: i})
	require.NoError(j.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=chaos", outVariable+"="+j.result(i), dirVariable+"="+j.dir, cluster.TFConfigVariable+"="+config, "GOMAXPROCS=2")
	out, err := cmd.StdoutPipe()
	require.NoError(j.t, err)
	cmd.Stderr = cmd.Stdout
	p := &chaosProcess{cmd: cmd}
	require.NoError(j.t, j.run(i, cmd))
	j.mu.Lock()
	j.workers[i], j.reached[i], j.groups[i] = p, 0, ""
	j.mu.Unlock()
	go func() {
		j.listen(i, out)
		err := cmd.Wait()
		j.mu.Lock()
		p.ended = true
		if err == nil {
			j.done++
		}
		if err != nil && !p.killed {
			j.log = append(j.log, fmt.Sprintf("worker %d ended: %v", i, err))
		}
		j.mu.Unlock()
	}()
}

// listen follows what a worker says.
func (j *chaos) listen(i int, r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var step int
		var at int64
		if n, _ := fmt.Sscanf(lines.Text(), "step %d %d", &step, &at); n == 2 {
			j.mu.Lock()
			when := time.Unix(0, at)
			if t, known := j.steps[step]; !known || when.Before(t) {
				j.steps[step] = when
			}
			j.last = max(j.last, step)
			j.reached[i] = max(j.reached[i], step)
			if group := j.groups[i]; !slices.Contains(j.told[step], group) {
				j.told[step] = append(j.told[step], group)
			}
			j.mu.Unlock()
			continue
		}
		j.mu.Lock()
		if strings.HasPrefix(lines.Text(), "group ") && strings.Contains(lines.Text(), " formed: ") {
			j.groups[i] = lines.Text()
		}
		j.log = append(j.log, fmt.Sprintf("%s [%d] %s", time.Now().Format("05.000"), i, lines.Text()))
		j.mu.Unlock()
	}
}

func (j *chaos) now() (last, done int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last, j.done
}

// await waits until a step was completed and returns when that was.
func (j *chaos) await(step int) time.Time {
	clock := fairclock.Start()
	defer clock.Stop()
	for ; clock.Elapsed() < 40*time.Second; time.Sleep(2 * time.Millisecond) {
		j.mu.Lock()
		at, ok := j.steps[step]
		j.mu.Unlock()
		if ok {
			return at
		}
		j.revive()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.t.Fatalf("step %d is never completed, the last one is %d; the job hangs. The workers said:\n%s", step, j.last, strings.Join(j.log, "\n"))
	return time.Time{}
}

// revive starts workers again that ended by themselves before the job was done.
func (j *chaos) revive() {
	j.mu.Lock()
	var again []int
	for i, p := range j.workers {
		if p.ended && j.done == 0 && !p.killed {
			again = append(again, i)
		}
	}
	j.mu.Unlock()
	for _, i := range again {
		j.start(i)
	}
}

func (j *chaos) signal(i int, s syscall.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.workers[i]
	p.killed = p.killed || s == syscall.SIGKILL
	_ = p.cmd.Process.Signal(s) // it may have ended
}

func (j *chaos) gone(i int) {
	for {
		j.mu.Lock()
		ended := j.workers[i].ended
		j.mu.Unlock()
		if ended {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// whole waits until all workers train, so that each has what was trained.
func (j *chaos) whole() {
	clock := fairclock.Start()
	defer clock.Stop()
	for ; clock.Elapsed() < 40*time.Second; time.Sleep(2 * time.Millisecond) {
		j.mu.Lock()
		behind := slices.Min(j.reached) < j.last-1
		j.mu.Unlock()
		if !behind {
			return
		}
		j.revive()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.t.Fatalf("the workers are at steps %v and do not come together. They said:\n%s", j.reached, strings.Join(j.log, "\n"))
}

// tail returns the last lines of the log.
func (j *chaos) tail(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.log[max(0, len(j.log)-n):], "\n")
}

// again starts a worker whose process is gone.
func (j *chaos) again(i int) {
	j.gone(i)
	j.start(i)
}

// two kills two workers at once and starts them again. It returns the time from which all are there.
func (j *chaos) two(i int) time.Time {
	other := j.otherThan(i)
	j.signal(i, syscall.SIGKILL)
	j.signal(other, syscall.SIGKILL)
	began := time.Now()
	j.again(i)
	j.again(other)
	return began
}

// replaced kills a worker, stops its replacement soon after its start, kills another one meanwhile, and lets the first
// continue after the others have given it up. It returns the time from which all can go on.
func (j *chaos) replaced(i int, deadline time.Duration) time.Time {
	other := j.otherThan(i)
	j.signal(i, syscall.SIGKILL)
	j.again(i)
	time.Sleep(time.Duration(40+j.rng.IntN(30)) * time.Millisecond)
	j.signal(i, syscall.SIGSTOP)
	thaw := time.After(deadline * 14 / 10)
	time.Sleep(time.Duration(j.rng.IntN(200)) * time.Millisecond)
	j.signal(other, syscall.SIGKILL)
	j.again(other)
	<-thaw
	j.signal(i, syscall.SIGCONT)
	return time.Now()
}

// frozenForGood stops a worker; when the others have given it up, a launcher ends and replaces it.
func (j *chaos) frozenForGood(i int, deadline time.Duration) time.Time {
	j.signal(i, syscall.SIGSTOP)
	began := time.Now()
	time.Sleep(deadline + deadline/10)
	j.signal(i, syscall.SIGKILL)
	j.again(i)
	return began
}

// frozen stops workers and lets them continue after the others have given them up. It returns the time from which all
// can go on, or when the others went on without them.
func (j *chaos) frozen(workers []int, before int, elastic bool, deadline time.Duration) (began, at time.Time) {
	began = time.Now()
	for _, i := range workers {
		j.signal(i, syscall.SIGSTOP)
	}
	if elastic {
		at = j.await(before + 2)
	} else {
		time.Sleep(deadline + deadline/2)
		began = time.Now()
	}
	for _, i := range workers {
		j.signal(i, syscall.SIGCONT)
	}
	return began, at
}

// half draws half of the workers, or one more.
func (j *chaos) half() []int { return j.rng.Perm(len(j.workers))[:(len(j.workers)+1)/2] }

func (j *chaos) otherThan(i int) int { return (i + 1 + j.rng.IntN(len(j.workers)-1)) % len(j.workers) }

// kinds of faults, in the order in which they are played.
var kinds = []string{"killed", "replaced", "frozen", "two at once", "chief killed", "frozen for good", "killed twice", "half frozen"}

// fault does something to workers and returns how long it took to the next step, from when there was all that the group
// needs for it, except that it has to notice a freeze first.
func (j *chaos) fault(kind string, elastic bool, deadline time.Duration) time.Duration {
	i := 0
	if kind != "chief killed" {
		i = j.rng.IntN(len(j.workers))
	}
	if elastic { // else the fault may hit the last one that has what was trained
		j.whole()
	}
	before, _ := j.now()
	began := time.Now()
	j.mu.Lock()
	j.log = append(j.log, fmt.Sprintf("%s FAULT: worker %d %s after step %d", time.Now().Format("05.000"), i, kind, before))
	j.mu.Unlock()
	var at time.Time
	switch kind {
	case "frozen":
		began, at = j.frozen([]int{i}, before, elastic, deadline)
	case "half frozen":
		began, at = j.frozen(j.half(), before, elastic, deadline)
	case "two at once":
		began = j.two(i)
	case "replaced":
		began = j.replaced(i, deadline)
	case "frozen for good":
		began = j.frozenForGood(i, deadline)
	case "killed twice":
		j.signal(i, syscall.SIGKILL)
		j.again(i)
		time.Sleep(time.Duration(j.rng.IntN(100)) * time.Millisecond)
		j.signal(i, syscall.SIGKILL)
		began = time.Now()
		fallthrough
	default:
		j.signal(i, syscall.SIGKILL)
		j.gone(i)
		if elastic && j.rng.IntN(2) == 0 {
			at = j.await(before + 2) // the others go on without it
		}
		j.start(i)
	}
	if at.IsZero() {
		at = j.await(before + 2)
	}
	// Some steps more, so that the job is whole again, or almost.
	j.await(before + 3 + j.rng.IntN(40))
	return max(0, at.Sub(began))
}

// end lets the workers run to the end and returns what they trained.
func (j *chaos) end() []chaosResult {
	require.NoError(j.t, os.WriteFile(filepath.Join(j.dir, hurryFile), nil, 0o666))
	last, since := 0, time.Duration(0)
	clock := fairclock.Start()
	defer clock.Stop()
	for {
		step, done := j.now()
		if done == len(j.workers) {
			break
		}
		if step > last {
			last, since = step, clock.Elapsed()
		}
		j.revive()
		if clock.Elapsed()-since > 40*time.Second {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.t.Fatalf("%d of %d workers have ended; the others hang after step %d. They said:\n%s", done, len(j.workers), last, strings.Join(j.log, "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	out := make([]chaosResult, len(j.workers))
	for i := range out {
		text, err := os.ReadFile(j.result(i))
		require.NoError(j.t, err)
		require.NoError(j.t, json.Unmarshal(text, &out[i]))
	}
	return out
}

// Workers that are killed, frozen and started again, the chief among them, train what they train unharmed: the same
// bits where their number is kept, and every step once where it is not.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	const deadline = 1500 * time.Millisecond
	for _, c := range []struct {
		name    string
		workers int
		elastic *distribute.Elastic
		stream  bool
		long    bool // in long runs only
	}{
		{"3 workers", 3, nil, false, false},
		{"3 workers, elastic", 3, &distribute.Elastic{Min: 1}, true, false},
		{"5 workers", 5, nil, true, true},
		{"5 workers, elastic", 5, &distribute.Elastic{Min: 2}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && *faults < 20 {
				t.Skip("only with -faults 20 or more: see make chaos")
			}
			config := chaosConfig{Elastic: c.elastic, Dropout: c.elastic == nil, Deadline: deadline, Stream: c.stream, Epochs: 45 + *faults*30}
			began := time.Now()
			unbroken := newChaos(t, c.workers, config, 0)
			t.Logf("first step %v after the workers were started", unbroken.await(1).Sub(began).Round(time.Millisecond))
			want := unbroken.end()[0]
			j := newChaos(t, c.workers, config, *schedule)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the workers said:\n%s", strings.Join(j.log, "\n"))
				}
			})
			j.await(5)
			times, late := map[string][]time.Duration{}, 0
			for i := range *faults {
				kind := kinds[i%len(kinds)]
				busy := newCanary()
				took := j.fault(kind, c.elastic != nil, deadline)
				pause := busy.end()
				t.Logf("fault %d, %s: the next step after %v", i, kind, took.Round(time.Millisecond))
				if times[kind] = append(times[kind], took); took > deadline+2*time.Second {
					t.Logf("fault %d, %s: the next step took %v; the machine was too busy for this test for %v. The workers said:\n%s", i, kind, took, pause, j.tail(40))
					if took-pause > deadline+2*time.Second {
						late++
					}
				}
				if step, _ := j.now(); step > (config.Epochs-10)*chaosSteps {
					t.Fatalf("the run ends after %d faults", i+1)
				}
			}
			results := j.end()
			j.requireLog(config.Epochs, c.elastic)
			for i, r := range results {
				require.Equal(t, float64(config.Epochs*chaosSteps), r.Steps, "worker %d: steps lost or done twice", i)
				require.Equal(t, config.Epochs, len(r.Loss), "worker %d: epochs in the history", i)
				if c.elastic == nil {
					require.Equal(t, want, r, "worker %d", i)
					continue
				}
				requireClose(t, want, r)
				require.Equal(t, results[0].Weights, r.Weights)
			}
			for _, line := range j.log {
				if strings.Contains(line, "worker: ") || strings.Contains(line, "without a verdict") {
					t.Logf("a worker gave up, and was started again: %s", line)
				}
			}
			for _, kind := range kinds {
				if d := times[kind]; len(d) > 0 {
					slices.Sort(d)
					t.Logf("%s: %d times, next step after %v (median), %v (longest)", kind, len(d), d[len(d)/2].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond))
				}
			}
			for step := 1; step <= config.Epochs*chaosSteps; step++ {
				j.mu.Lock()
				_, ok := j.steps[step]
				j.mu.Unlock()
				require.True(t, ok, "step %d was told by nobody", step)
			}
			if *faults >= 20 { // a machine with much else to do may take its time in the few of the usual tests
				require.Zero(t, late, "waits beyond the deadline and two seconds")
			}
		})
	}
}

// canary measures for how long this process could not run: the workers could not either then.
type canary struct {
	clock *fairclock.Clock
	began time.Time
}

func newCanary() *canary { return &canary{fairclock.Start(), time.Now()} }

func (c *canary) end() time.Duration {
	c.clock.Stop()
	return max(0, time.Since(c.began)-c.clock.Elapsed()).Round(time.Millisecond)
}

// requireLog checks that the file of a CSVLogger, which the chiefs of a run wrote, has each epoch, and twice only where
// a chief that was frozen in the middle of writing woke up, or where two groups trained it side by side, as a Min below
// a majority lets them until they meet.
func (j *chaos) requireLog(epochs int, elastic *distribute.Elastic) {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, chaosLog))
	require.NoError(j.t, err)
	j.mu.Lock()
	defer j.mu.Unlock()
	parting := elastic != nil && elastic.Min <= len(j.workers)/2
	doubled, apart, err := doubledLines(string(text), epochs, func(epoch int) int {
		if !parting {
			return 1
		}
		return trainedApart(j.told, epoch)
	})
	require.NoError(j.t, err, "%s", text)
	j.t.Logf("%d lines of the log are doubled, %d of them in epochs that groups trained side by side", doubled+apart, apart)
	require.LessOrEqual(j.t, doubled, 2, "lines are doubled:\n%s", text)
}

// trainedApart is the number of groups that trained the end of an epoch: more than one where groups worked side by
// side. The last step alone is no sign of that: a worker may complete it, and be lost before the others have.
func trainedApart(told map[int][]string, epoch int) int {
	last := (epoch + 1) * chaosSteps
	return max(1, min(len(told[last]), max(len(told[last-1]), len(told[last+1]))))
}

// doubledLines counts the lines of a CSVLogger's file that are more than one for each group that trained their epoch,
// and those that other groups wrote.
func doubledLines(text string, epochs int, groups func(epoch int) int) (doubled, apart int, err error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return 0, 0, err
	}
	if rows[0][0] != "epoch" {
		return 0, 0, fmt.Errorf("the file begins with %q, not with a header", rows[0])
	}
	seen := map[string]int{}
	for _, row := range rows[1:] {
		seen[row[0]]++
	}
	for epoch := range epochs {
		n := seen[fmt.Sprint(epoch)]
		if n == 0 {
			return 0, 0, fmt.Errorf("epoch %d is missing", epoch)
		}
		allowed := min(n, groups(epoch))
		doubled, apart = doubled+n-allowed, apart+allowed-1
	}
	if len(seen) != epochs {
		return 0, 0, fmt.Errorf("%d epochs instead of %d", len(seen), epochs)
	}
	return doubled, apart, nil
}

// The check of the log fails where lines are missing, or doubled though nobody trained their epochs apart.
func TestDoubledLines(t *testing.T) {
	told := map[int][]string{}
	for step := 1; step <= 4*chaosSteps; step++ {
		told[step] = []string{"a"}
	}
	one := func(epoch int) int { return trainedApart(told, epoch) }
	const whole = "epoch,loss\n0,4\n1,3\n2,2\n3,1\n"
	for text, want := range map[string][2]int{whole: {}, whole + "2,2\n3,1\n": {2, 0}} {
		doubled, apart, err := doubledLines(text, 4, one)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{doubled, apart}, text)
	}
	for _, text := range []string{"0,4\n1,3\n2,2\n3,1\n", "epoch,loss\n0,4\n2,2\n3,1\n", whole + "4,0\n"} {
		_, _, err := doubledLines(text, 4, one)
		require.Error(t, err, text)
	}
	for step := 2*chaosSteps - 1; step <= 3*chaosSteps; step++ { // side by side from the end of epoch 1 to the end of epoch 2
		told[step] = append(told[step], "b")
	}
	told[4*chaosSteps] = append(told[4*chaosSteps], "b") // a worker that was lost had completed it
	doubled, apart, err := doubledLines(whole+"1,3\n2,2\n2,2\n3,1\n", 4, one)
	require.NoError(t, err)
	require.Equal(t, [2]int{2, 2}, [2]int{doubled, apart}, "a third line of epoch 2, a second one of epoch 3")
}

// requireClose compares runs whose sums were cut otherwise.
func requireClose(t *testing.T, want, got chaosResult) {
	t.Helper()
	for i, w := range want.Weights {
		for k, x := range w {
			if !(abs(got.Weights[i][k]-x) <= 1e-6*(1+abs(x))) {
				t.Fatalf("weight %d[%d] is %v, unbroken %v", i, k, got.Weights[i][k], x)
			}
		}
	}
	for i, x := range want.Loss {
		if !(abs(got.Loss[i]-x) <= 1e-6*(1+abs(x))) {
			t.Fatalf("loss of epoch %d is %v, unbroken %v", i, got.Loss[i], x)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
