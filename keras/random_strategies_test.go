package keras_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

var (
	strategyRuns = flag.Int("strategyruns", 12, "how many runs TestRandomStrategies draws")
	strategySeed = flag.Uint64("strategyseed", 1, "seed of the first of them")
)

// drawnAction is an action on a model.
type drawnAction struct {
	name string
	do   func(ctx context.Context, d *drawnRun, n *notes) error
}

// notes are the numbers that a run produced.
type notes struct {
	names  []string
	values [][]float64
}

func (n *notes) add(name string, values ...float64) {
	n.names, n.values = append(n.names, name), append(n.values, values)
}

func (n *notes) addLogs(what string, logs map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		n.add(what+" "+name, logs[name])
	}
}

// state records the model's state.
func (n *notes) state(what string, d *drawnRun) error {
	m := d.m
	all := m.Weights()
	for _, v := range all {
		a, err := v.Value()
		if err != nil {
			return err
		}
		n.add(what+", weight "+v.Path(), a.Float64s()...)
	}
	for _, l := range m.Layers() {
		e, ok := l.(*layers.Embedding)
		if !ok || !e.Dynamic {
			continue
		}
		rows, err := e.Table().Rows()
		if err != nil {
			return err
		}
		for _, row := range rows {
			for _, v := range row.Values {
				n.add(fmt.Sprint(what, ", row ", row.Key), float64(v))
			}
		}
	}
	if d.server {
		return nil
	}
	slots, err := m.OptimizerArrays()
	for i, a := range slots {
		n.add(fmt.Sprint(what, ", slot ", i), a.Float64s()...)
	}
	return err
}

// drawActions draws the actions on the model.
func (d *drawnRun) drawActions(r *rand.Rand) {
	add := func(name string, do func(context.Context, *drawnRun, *notes) error) {
		d.actions = append(d.actions, drawnAction{name, do})
	}
	compile := func() {
		stream := r.Uint64()
		add("compile", func(_ context.Context, d *drawnRun, _ *notes) error {
			return d.compile(d.m, d.random(stream))
		})
	}
	compile()
	for i := range 2 + r.IntN(5) {
		if d.server && i == 2 {
			break
		}
		stream, batch, weights := uint64(i), 1+r.IntN(11), r.IntN(2) == 0
		switch k := r.IntN(12); {
		case i == 0 || k < 4 || d.server:
			options := []keras.FitOption{keras.BatchSize(batch), keras.Epochs(1 + r.IntN(3)), keras.Shuffle(r.IntN(2) == 0)}
			validate, part, steps := r.IntN(3) == 0, r.IntN(4) == 0, r.IntN(4) == 0
			if steps {
				options = append(options, keras.StepsPerEpoch(1+r.IntN(min(3, (d.examples+batch-1)/batch))))
			}
			if d.server {
				options, part = []keras.FitOption{keras.BatchSize(batch), keras.Epochs(1 + r.IntN(2)), keras.Shuffle(false), keras.StepsPerEpoch((d.examples + batch - 1) / batch)}, false
			}
			classes := r.IntN(3) == 0
			add(fmt.Sprintf("fit batch %d weights %v validation %v split %v", batch, weights, validate, part), func(ctx context.Context, d *drawnRun, n *notes) error {
				list, weights := options, weights
				if d.parts > 0 {
					list = d.roundOptions(options, batch)
				}
				if classes && len(d.out) == 1 && d.out[0].kind == "classes" {
					list, weights = append(slices.Clone(list), keras.ClassWeight(map[int]float64{0: 0.5, 1: 2})), false
				}
				if validate {
					list = append(slices.Clone(list), keras.ValidationData(d.data(50+stream, 1+int(stream)*3, true, weights)))
				} else if part && !steps {
					list = append(slices.Clone(list), keras.ValidationSplit(0.3))
				}
				h, err := d.m.Fit(ctx, d.data(stream, d.fitted(batch), true, weights), list...)
				if err != nil {
					return err
				}
				for _, name := range slices.Sorted(maps.Keys(h.Logs)) {
					n.add("history "+name, h.Logs[name]...)
				}
				return nil
			})
		case k == 4:
			add(fmt.Sprint("train on batch ", batch, weights), func(ctx context.Context, d *drawnRun, n *notes) error {
				logs, err := d.m.TrainOnBatch(ctx, d.data(stream, batch, true, weights))
				n.addLogs("train on batch", logs)
				return err
			})
		case k == 5:
			add(fmt.Sprint("evaluate ", batch, weights), func(ctx context.Context, d *drawnRun, n *notes) error {
				logs, err := d.m.Evaluate(ctx, d.data(stream, d.examples, true, weights), keras.BatchSize(batch))
				n.addLogs("evaluate", logs)
				return err
			})
		case k == 6:
			add(fmt.Sprint("predict ", batch), func(ctx context.Context, d *drawnRun, n *notes) error {
				all, err := d.m.PredictAll(ctx, d.data(stream, d.examples, false, false), keras.BatchSize(batch))
				for i, a := range all {
					n.add(fmt.Sprint("prediction ", i), a.Float64s()...)
				}
				return err
			})
		case k == 7 || k == 8:
			on, which := k == 7, r.Uint64()
			add(fmt.Sprint("trainable ", on), func(_ context.Context, d *drawnRun, _ *notes) error {
				list := d.m.Layers()
				layers.SetTrainable(list[which%uint64(len(list))], on)
				return nil
			})
			if r.IntN(2) == 0 {
				compile()
			}
		case k == 9:
			add("lora", func(_ context.Context, d *drawnRun, _ *notes) error {
				for _, l := range d.m.Layers() {
					if e, ok := l.(layers.LoraEnabler); ok {
						if e.EnableLora(2) == nil {
							break
						}
					}
				}
				return nil
			})
			compile()
		case k == 10 && d.dtype != "float64":
			kind := one(r, "int8", "int4")
			add("quantize "+kind, func(_ context.Context, d *drawnRun, _ *notes) error { _ = d.m.Quantize(kind); return nil })
			compile()
		case k == 10:
			add("save and load", reload)
		default:
			compile()
		}
	}
}

// reload saves the model, loads the file and continues with the loaded model.
func reload(ctx context.Context, d *drawnRun, _ *notes) error {
	path := filepath.Join(d.dir, "m.keras")
	err := d.m.Save(path)
	if err == nil { // others wait for the file
		err = d.m.OnChief(ctx, func() error { return nil })
	}
	if err == nil {
		d.m, err = keras.LoadModel(path, distribute.Scope(d.s))
	}
	return err
}

// run does everything under a strategy.
func (d *drawnRun) run(ctx context.Context, s distribute.Strategy) (n *notes, err error) {
	n = &notes{}
	own := *d // what the model adds belongs to this run only
	own.s = s
	if own.m, err = own.model(s); err != nil {
		return n, err
	}
	for i, a := range d.actions {
		what := fmt.Sprint(i, " ", a.name)
		before := len(n.names)
		own.dir = filepath.Join(d.dir, fmt.Sprint(i))
		if err := os.MkdirAll(own.dir, 0o777); err != nil {
			return n, err
		}
		if err := a.do(ctx, &own, n); err != nil {
			return n, fmt.Errorf("%s: %w", what, err)
		}
		for k := before; k < len(n.names); k++ {
			n.names[k] = what + ": " + n.names[k]
		}
		if err := n.state(what, &own); err != nil {
			return n, err
		}
	}
	return n, own.m.Weights().CheckMirrored()
}

// onWorkers runs under a strategy of several processes, which are goroutines here; all must get the same bits.
func (d *drawnRun) onWorkers(t *testing.T, workers int, devices ...string) (*notes, error) {
	t.Helper()
	d.dir = t.TempDir() // shared by all
	spec := clustertest.Workers(t, workers)
	all, failed := make([]*notes, workers), make([]error, workers)
	done := make(chan int)
	for i := range workers {
		go func() {
			defer func() { done <- i }()
			s, err := multiworker.NewStrategy(t.Context(), multiworker.Options{
				Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: i}}, Devices: devices, JoinTimeout: 20 * time.Second,
			})
			if failed[i] = err; err != nil {
				return
			}
			all[i], failed[i] = d.run(t.Context(), s)
			failed[i] = errors.Join(failed[i], s.Close())
		}()
	}
	for range workers {
		<-done
	}
	for i := range workers {
		if failed[i] != nil {
			return all[i], fmt.Errorf("worker %d: %w", i, failed[i])
		}
		require.Equal(t, all[0].names, all[i].names)
		for k, values := range all[0].values {
			requireSameBits(t, all[0].names[k], values, all[i].values[k])
		}
	}
	return all[0], nil
}

func requireSameBits(t *testing.T, what string, a, b []float64) {
	t.Helper()
	require.Len(t, b, len(a), what)
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			t.Fatalf("%s[%d]: workers have %v and %v", what, i, a[i], b[i])
		}
	}
}

// same describes the first difference between two runs; "" if there is none.
func (d *drawnRun) same(want, got *notes) string {
	few := 2.5 / float64(d.examples) // the fraction of examples that rounding may decide
	tolerance := map[string]float64{"float64": 1e-7, "float32": 2e-3}[d.dtype]
	if tolerance == 0 {
		tolerance = 0.15
	}
	for _, name := range want.names {
		if strings.Contains(name, "lora") || strings.Contains(name, "save and load") { // float32, as losses of loaded models
			tolerance = max(tolerance, 1e-4)
		}
	}
	if !slices.Equal(want.names, got.names) {
		return fmt.Sprintf("other numbers: %v in place of %v", got.names, want.names)
	}
	for k, name := range want.names {
		scale, tolerance := 1e-2, tolerance
		if strings.Contains(name, "accuracy") || strings.Contains(name, "precision") || strings.Contains(name, "auc") {
			scale, tolerance = 1, few
		}
		for _, v := range want.values[k] {
			if !math.IsNaN(v) {
				scale = max(scale, math.Abs(v))
			}
		}
		if len(want.values[k]) != len(got.values[k]) {
			return fmt.Sprintf("%s: %d numbers, expected %d", name, len(got.values[k]), len(want.values[k]))
		}
		for i, w := range want.values[k] {
			if g := got.values[k][i]; !(math.Abs(w-g) <= tolerance*scale) && !(math.IsNaN(w) && math.IsNaN(g)) && w != g {
				return fmt.Sprintf("%s[%d]: %v, expected %v (largest %v)", name, i, g, w, scale)
			}
		}
	}
	return ""
}

// story describes what was drawn.
func (d *drawnRun) story() string {
	var list []string
	for _, a := range d.actions {
		list = append(list, a.name)
	}
	c := *d
	_, _ = c.model(distribute.Default())
	return fmt.Sprintf("%s, own %v, inputs %v, %d examples\n%s\n%s", d.dtype, d.own, d.kinds, d.examples, strings.Join(c.log, ", "), strings.Join(list, "\n"))
}

// TestRandomServers trains random models on parameter servers, one step at a time. The results are those of one device.
func TestRandomServers(t *testing.T) {
	runs := (*strategyRuns + 2) / 3 // jobs mostly wait
	if testing.Short() {
		runs = min(runs, 2)
	}
	for i := range uint64(runs) {
		seed := *strategySeed + 18 + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := drawRun(seed, true)
			d.dir = t.TempDir()
			want, failed := d.run(t.Context(), distribute.Default())
			for name, consistency := range map[string]parameterserver.Consistency{"stale": {Staleness: 1}, "rounds": {Synchronous: true, Replicas: 1}} {
				change := func(o *parameterserver.Options) { oneAtATime(o); o.Consistency = consistency }
				err := onParameterServers(t, 1, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
					got, err := d.run(ctx, s)
					if err == nil && failed == nil && s.IsCoordinator() {
						if text := d.same(want, got); text != "" {
							return errors.New(text)
						}
					}
					return err
				})
				switch {
				case err != nil && failed == nil:
					t.Fatalf("%s: %v\n%s", name, err, d.story())
				case err == nil && failed != nil:
					t.Fatalf("%s: no error, though on one device: %v\n%s", name, failed, d.story())
				}
			}
		})
	}
}

// TestRandomStrategies draws models, data and actions, and runs them under all strategies: N replicas get the same
// weights, slots, logs and predictions as one replica with the joined batch. With their own random numbers or
// statistics, they get those of N replicas of another strategy.
func TestRandomStrategies(t *testing.T) {
	runs := *strategyRuns
	if testing.Short() {
		runs = min(runs, 3)
	}
	for i := range uint64(runs) {
		seed := *strategySeed + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := drawRun(seed, false)
			base := distribute.Default()
			if d.own {
				base = tfStrategy(t, "Mirrored", 2)
			}
			d.dir = t.TempDir()
			want, failed := d.run(t.Context(), base)
			if failed != nil {
				t.Logf("refused: %v\n%s", failed, d.story())
			}
			compare := func(name string, run func() (*notes, error)) {
				got, err := run()
				switch {
				case failed != nil && err != nil:
				case failed != nil:
					t.Fatalf("%s: no error, though with one replica: %v\n%s", name, failed, d.story())
				case err != nil:
					t.Fatalf("%s: %v\n%s", name, err, d.story())
				default:
					if text := d.same(want, got); text != "" {
						t.Fatalf("%s: %s\n%s", name, text, d.story())
					}
				}
			}
			here := func(s distribute.Strategy) func() (*notes, error) {
				return func() (*notes, error) { d.dir = t.TempDir(); return d.run(t.Context(), s) }
			}
			compare("central", here(tfStrategy(t, "CentralStorage", 2)))
			if !d.own {
				compare("one device", here(tfStrategy(t, "OneDevice", 1)))
				compare("mirrored 2", here(tfStrategy(t, "Mirrored", 2)))
				compare("mirrored 3", here(tfStrategy(t, "Mirrored", 3)))
				compare("2 workers with 2 replicas", func() (*notes, error) { return d.onWorkers(t, 2, "cpu:0", "cpu:1") })
			}
			s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: tfDevices(2), ShardOptimizerState: true, Communication: distribute.CommunicationOptions{BytesPerPack: 64}})
			require.NoError(t, err)
			compare("sharded", here(s))
			compare("2 workers", func() (*notes, error) { return d.onWorkers(t, 2, "cpu:0") })
		})
	}
}
