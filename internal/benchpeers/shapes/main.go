// Command shapes measures layers and models beside those that the tables of other frameworks are about: odd numbers of
// channels, grouped, dilated and transposed convolutions, attention with other head sizes, normalizations, embeddings,
// batches of one, float64.
//
//	shapes [--only TEXT] [--threads N] [--random N] [--seed N] [--secs S] [--rounds N] [--torch PYTHON] [--predict] [--profile] [--cpuprofile FILE]
//
// For each it prints the rate of the result alone and of a training step (the result and the gradients with respect to
// inputs and weights; for models the update too): GFLOP/s and the percentage of the multiply-add peak, or for what only
// moves numbers GB/s of the inputs, results and gradients, each counted once. With a Python binary that has PyTorch
// (also in TORCH_PY) each sample has one of torch right after it, and the table has the median over the rounds of our
// speed by torch's: below 1 torch is faster; and the last table says how they are distributed. With --random N it
// measures N shapes of each kind that are drawn at random, which nobody has tuned for. Times on one thread are
// processor time, ours and torch's.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu"
)

func main() {
	only := flag.String("only", "", "measure the keys that contain one of these texts, separated by commas")
	threads := flag.Int("threads", 1, "processors to use")
	secs := flag.Float64("secs", 0.1, "seconds of one sample")
	rounds := flag.Int("rounds", 3, "samples of each key")
	torch := flag.String("torch", os.Getenv("TORCH_PY"), "Python binary that has PyTorch; empty or none leaves torch out")
	peers := flag.String("peers", "internal/benchpeers/peers", "folder of peer_shapes.py")
	random := flag.Int("random", 0, "measure so many shapes of each kind, drawn at random, instead of the listed ones")
	seed := flag.Uint64("seed", 1, "what draws them")
	predict := flag.Bool("predict", false, "measure results alone, without training steps")
	profile := flag.Bool("profile", false, "print where the time of the training steps goes")
	samples := flag.String("cpuprofile", "", "write a profile of the process to this file")
	flag.Parse()
	if *samples != "" {
		f, err := os.Create(*samples)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "shapes:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	runtime.GOMAXPROCS(*threads)
	p, err := startPeer(*torch, *peers, *threads)
	if err == nil {
		b := &bench{out: os.Stdout, peer: p, secs: *secs, rounds: *rounds, predict: *predict, profile: *profile, cases: cases()}
		if *random > 0 {
			b.cases = drawn(*random, *seed)
		}
		err = b.run(strings.Split(*only, ","))
		p.close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shapes:", err)
		os.Exit(1)
	}
}

// bench is what to do with the specs.
type bench struct {
	out     io.Writer
	peer    *peer
	secs    float64
	rounds  int
	predict bool // alone
	profile bool
	cases   []spec
}

// peer is a process that measures the same specs.
type peer struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func startPeer(python, folder string, threads int) (*peer, error) {
	if python == "" || python == "none" {
		return nil, nil
	}
	cmd := exec.Command(python, filepath.Join(folder, "peer_shapes.py"), fmt.Sprint(threads))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peer{in, bufio.NewReader(out), cmd}, cmd.Start()
}

func (p *peer) close() {
	if p != nil {
		p.in.Close()
		_ = p.cmd.Wait()
	}
}

// measure returns the seconds of one step; 0 if there is no peer or it cannot compute the spec.
func (p *peer) measure(s *spec, train bool, secs float64) (float64, error) {
	if p == nil {
		return 0, nil
	}
	if err := json.NewEncoder(p.in).Encode(map[string]any{"spec": s, "train": train, "secs": secs}); err != nil {
		return 0, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("torch: %w", err)
	}
	var answer struct {
		Seconds float64
		Error   string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return 0, err
	}
	if answer.Error != "" {
		fmt.Fprintf(os.Stderr, "torch: %s: %s\n", s.Key, answer.Error)
	}
	return answer.Seconds, nil
}

// measure returns the seconds of one step: the best of several samples, since other processes can only slow it down. On
// one thread they are processor time, of which others take nothing but what they push out of the caches.
func (w *work) measure(secs float64) (float64, error) {
	clock := func() float64 { return float64(time.Now().UnixNano()) / 1e9 }
	if runtime.GOMAXPROCS(0) == 1 {
		clock = processTime
	}
	best, n := 0.0, 1
	for end := time.Now().Add(time.Duration(secs * 1e9)); time.Now().Before(end); {
		begin := clock()
		for range n {
			if err := w.run(); err != nil {
				return 0, err
			}
		}
		t := max((clock()-begin)/float64(n), 1e-9)
		if best == 0 || t < best {
			best = t
		}
		n = max(1, int(0.01/t))
	}
	return best, nil
}

// row is what is known of a spec in one mode.
type row struct {
	seconds, ratio, peak float64
	flops, bytes         float64
	allocations          float64
}

// run prints the table of the specs whose keys contain one of the texts.
func (b *bench) run(only []string) error {
	fmt.Fprintf(b.out, "| key | predict us | rate | %% of peak | by torch | train us | rate | %% of peak | by torch | allocations a step |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var ratios []measured
	for _, s := range b.cases {
		if !slices.ContainsFunc(only, func(text string) bool { return strings.Contains(s.Key, text) }) {
			continue
		}
		line := "| " + s.Key
		allocations := 0.0
		for _, train := range []bool{false, true} {
			if train && b.predict {
				line += " |  |  |  | "
				continue
			}
			r, err := b.row(&s, train)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Key, err)
			}
			line += r.String()
			ratios = append(ratios, measured{s.Kind, map[bool]string{false: "predict", true: "train"}[train], r.ratio})
			allocations = r.allocations
		}
		fmt.Fprintf(b.out, "%s | %.1f |\n", line, allocations)
	}
	summary(b.out, ratios)
	return nil
}

// row measures a spec in rounds.
func (b *bench) row(s *spec, train bool) (*row, error) {
	w, err := s.build(train)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var measurement *cpu.Measurement
	if b.profile {
		w.ctx = cpu.Measurable(w.ctx)
		if measurement, err = cpu.StartMeasurement(w.ctx); err != nil {
			return nil, err
		}
	}
	for range 3 {
		if err := w.run(); err != nil {
			return nil, err
		}
	}
	r := &row{flops: w.flops, bytes: w.bytes}
	var ratios []float64
	for range b.rounds {
		before := allocations()
		steps := w.step
		mine, err := w.measure(b.secs)
		if err != nil {
			return nil, err
		}
		r.allocations = float64(allocations()-before) / float64(w.step-steps)
		r.peak = max(r.peak, cpu.MeasurePeak(2*time.Millisecond))
		other, err := b.peer.measure(s, train, b.secs)
		if err != nil {
			return nil, err
		}
		if other > 0 {
			ratios = append(ratios, other/mine)
		}
		if r.seconds == 0 || mine < r.seconds {
			r.seconds = mine
		}
	}
	printProfiles(b.out, measurement.Stop())
	if len(ratios) > 0 {
		slices.Sort(ratios)
		r.ratio = ratios[len(ratios)/2]
	}
	return r, nil
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// String returns the row's cells.
func (r *row) String() string {
	rate, percent, ratio := fmt.Sprintf("%.1f GB/s", r.bytes/r.seconds/1e9), "", ""
	if r.flops > 0 {
		rate, percent = fmt.Sprintf("%.1f GFLOP/s", r.flops/r.seconds/1e9), fmt.Sprintf("%.0f", 100*r.flops/r.seconds/r.peak)
	}
	if r.ratio > 0 {
		ratio = fmt.Sprintf("%.2f", r.ratio)
	}
	return fmt.Sprintf(" | %.1f | %s | %s | %s", r.seconds*1e6, rate, percent, ratio)
}

// printProfiles prints where the time of programs went.
func printProfiles(w io.Writer, profiles []cpu.ProgramProfile) {
	for _, p := range profiles {
		for _, op := range p.Ops {
			seconds := op.Time.Seconds() / max(float64(op.Calls), 1)
			fmt.Fprintf(w, "%s: %9.1f us  %6.1f GFLOP/s  %6.1f GB/s  %s\n", p.Program, seconds*1e6, float64(op.FLOPs)/seconds/1e9, float64(op.Bytes)/seconds/1e9, op.Name)
		}
	}
}
