package cpu_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

var (
	firstStep = flag.Uint64("steps-first", 0, "the first seed of TestRandomSteps")
	manySteps = flag.Uint64("steps", 0, "how many networks TestRandomSteps draws; 0: the usual number")
	showSteps = flag.Bool("steps-show", false, "TestRandomSteps prints what it draws")
)

// shortSteps are the seeds for -short. Together they reach most kernels that the first hundreds reach.
var shortSteps = []uint64{27113625, 27113652, 27113646, 27113623, 27113635, 27113647, 27113620, 27113648, 27113681, 27113650, 27113680, 27113641}

// shortHalves are those of TestRandomStepsOfHalves.
var shortHalves = []uint64{1002, 1003, 1004, 1005, 1011}

const (
	// mostWork limits the multiplications of a program for the reference.
	mostWork = 3e7
	// mostOff limits the error of a result, relative to the spread of computations that round each result once. Kernels
	// round each term of a sum.
	mostOff = 24
	// mostOffHalves is the same for 16 bits, which kernels accumulate in 32 bits.
	mostOffHalves = 8
)

// TestRandomSteps draws networks with losses and optimizers. It compares their training steps and predictions, compiled
// for each instruction set, with the same programs in float64. How far float32 may differ is measured, by running the
// same programs with rounding and with inputs that differ in the last place.
func TestRandomSteps(t *testing.T) {
	for _, seed := range stepSeeds(shortSteps, 60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkSteps(t, seed, "") })
	}
}

// TestRandomStepsOfHalves does the same under mixed precision. Where the processor multiplies pairs of bfloat16,
// programs run both in pairs and in float32, regardless of the gain.
func TestRandomStepsOfHalves(t *testing.T) {
	for _, seed := range stepSeeds(shortHalves, 30) {
		for _, policy := range []string{"mixed_bfloat16", "mixed_float16"} {
			t.Run(fmt.Sprint(seed, " ", policy), func(t *testing.T) { checkSteps(t, seed, policy) })
		}
	}
}

// stepSeeds returns the seeds for -short, or the first ones.
func stepSeeds(short []uint64, usual uint64) []uint64 {
	count := *manySteps
	if count == 0 && testing.Short() {
		return short
	}
	if count == 0 {
		count = usual
	}
	var seeds []uint64
	for i := range count {
		seeds = append(seeds, *firstStep+i)
	}
	return seeds
}

// checkSteps draws a network whose layers have a policy, and checks its programs.
func checkSteps(t *testing.T, seed uint64, policy string) {
	began := time.Now()
	d, steps, err := drawStep(t.Context(), seed, policy)
	if *showSteps {
		t.Logf("%s%v", d.text, err)
	}
	if err != nil {
		t.Logf("refused: %v\n%s", err, d.text)
		return
	}
	for _, s := range steps {
		s.check(t, d, seed)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Logf("%v", took)
	}
}

func (s *step) check(t *testing.T, d *stepDraw, seed uint64) {
	if n := work(s.program); n > mostWork {
		t.Logf("too large for the reference: %.3g", n)
		return
	}
	if err := s.expect(3); err != nil {
		t.Logf("the reference refuses: %v", err)
		return
	}
	defer func() {
		if problem := recover(); problem != nil {
			t.Errorf("panic: %v\n%s\n%v\n%s", problem, d.text, s.program, debug.Stack())
		}
	}()
	paths := isa.Paths()
	for i, path := range paths {
		func() {
			defer isa.Override(path)()
			defer cpu.ForceBlocks(1 << (7 + seed%8))()
			plain := i == int(seed)%len(paths)
			if d.policy != "mixed_bfloat16" || !cpu.MultipliesPairs() {
				s.compare(t, d, path.String(), plain)
				return
			}
			for _, pairs := range []bool{false, true} {
				restore := cpu.ForcePairs(pairs)
				s.compare(t, d, fmt.Sprintf("%v, in pairs: %v", path, pairs), plain && pairs)
				restore()
			}
		}()
	}
}

func (s *step) compare(t *testing.T, d *stepDraw, path string, plain bool) {
	one := s.run(t, 1, false)
	s.judge(t, d, one, path)
	two := s.run(t, 2, false)
	for i := range one {
		if !bytes.Equal(one[i].Bytes(), two[i].Bytes()) {
			t.Errorf("%v: output %q has other bits with two workers\n%s\n%v", path, s.program.Outputs[i].Name, d.text, s.program)
		}
	}
	if plain {
		s.judge(t, d, s.run(t, 2, true), path+", not fused")
	}
}

// judge fails if results differ by more than rounding explains. If they seem to, it makes more draws to see whether the
// step is just ill-conditioned there.
func (s *step) judge(t *testing.T, d *stepDraw, got []reference.Value, how string) {
	ratio, where := s.worst(got)
	most := float64(mostOff)
	if s.policy != "" {
		most = mostOffHalves
	}
	for ratio > most && s.draws < 40 {
		require.NoError(t, s.draw(s.draws))
		ratio, where = s.worst(got)
	}
	if *showSteps {
		t.Logf("%s: training %v: %.3g times, %s", how, s.training, ratio, where)
	}
	if ratio > most {
		t.Errorf("%s: off by %.3g times what rounding explains: %s\n%s\n%v", how, ratio, where, d.text, s.program)
	}
}

// run runs the step twice on the same values. Outputs that replace inputs share their buffers.
func (s *step) run(t *testing.T, workers int, plain bool) []reference.Value {
	t.Helper()
	before := goruntime.GOMAXPROCS(workers)
	defer goruntime.GOMAXPROCS(before)
	device := kernels.Device{Kind: cpu.Kind}
	e, err := cpu.Load(s.program, kernels.CompileOptions{Device: device}, plain)
	require.NoError(t, err, "%v", s.program)
	defer e.Close()
	buffer := func(typ ir.Type, content []byte) kernels.Buffer {
		b, err := cpu.Backend{}.NewBuffer(device, typ)
		require.NoError(t, err)
		require.NoError(t, b.Write(content))
		return b
	}
	var results []reference.Value
	var in []kernels.Buffer
	for _, v := range s.inputs {
		in = append(in, buffer(v.Type, v.Bytes()))
	}
	for range 3 { // constant weights are packed for the second run on, and read so by the third
		for _, o := range s.program.Outputs {
			if o.Alias >= 0 {
				require.NoError(t, in[o.Alias].Write(s.inputs[o.Alias].Bytes()))
			}
		}
		var out []kernels.Buffer
		for _, o := range s.program.Outputs {
			if o.Alias >= 0 {
				out = append(out, in[o.Alias])
				continue
			}
			typ := s.program.Type(o.Value)
			out = append(out, buffer(typ, bytes.Repeat([]byte{0xff}, typ.Bytes())))
		}
		require.NoError(t, e.Run(context.Background(), in, out), "%v", s.program)
		var again []reference.Value
		for i, b := range out {
			content := make([]byte, b.Type().Bytes())
			require.NoError(t, b.Read(content))
			v, err := reference.FromBytes(b.Type(), content)
			require.NoError(t, err)
			again = append(again, v)
			if results != nil && !bytes.Equal(results[i].Bytes(), v.Bytes()) {
				t.Errorf("output %q has other bits when the step is run again\n%v", s.program.Outputs[i].Name, s.program)
			}
		}
		results = again
	}
	return results
}
