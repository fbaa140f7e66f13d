package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// target is a set of devices for which programs are compiled, without the devices being present.
type target interface {
	Devices() int
	Model() string
	Compile(p *ir.Program) (analysis, error)
	Close() error
}

// analysis is what a compiler reports about a program, for one device and one run.
type analysis struct {
	FLOPs     float64 `json:"flops"`
	Accessed  float64 `json:"bytes_accessed"`
	Code      int64   `json:"code_bytes"`
	Arguments int64   `json:"argument_bytes"`
	Outputs   int64   `json:"output_bytes"`
	Aliased   int64   `json:"aliased_bytes"`
	Temporary int64   `json:"temporary_bytes"`
	Peak      int64   `json:"peak_bytes"`
}

// openTarget opens a compiler for the named devices; nil if the program was built without plugins.
var openTarget func(plugin, name string) (target, error)

// compileFlags are the flags of compile.
type compileFlags struct {
	target, plugin, mode string
	batchSize            int
	asJSON               bool
}

func newCompile() *cobra.Command {
	var f compileFlags
	c := &cobra.Command{
		Use:   "compile MODEL",
		Short: "Compile a step for TPUs that need not be here, and show what it takes",
		Long: "Compile a step for TPUs that need not be here, and show what it takes: arithmetic, memory, and the layer that needs most of each.\n" +
			"Needs libtpu (the Python package of that name, or TPU_LIBRARY_PATH), no hardware and no network, and a program that was built with\n" +
			"go build -tags pjrt ./cmd/keras",
		Example: "  keras compile model.keras --target v5e:2x2 --batch-size 1024",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := f.run(c.Context(), args[0])
			if err != nil {
				return err
			}
			if f.asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(r)
			}
			return r.write(c.OutOrStdout())
		},
	}
	s := c.Flags()
	s.StringVar(&f.target, "target", "", "the devices, such as v5e:2x2, v4:2x2x1 or v6e:2x4; each core is a replica")
	s.StringVar(&f.plugin, "plugin", "", "file of the plugin that compiles (default libtpu)")
	s.StringVar(&f.mode, "mode", "", "train or predict (default train for a compiled model)")
	s.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "batch" {
			name = "batch-size"
		}
		return pflag.NormalizedName(name)
	})
	s.IntVar(&f.batchSize, "batch-size", 32, "examples in a batch of all replicas together; --batch for short")
	s.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return c
}

// compilation is the output of compile.
type compilation struct {
	Target    string    `json:"target"`
	Device    string    `json:"device"`
	Replicas  int       `json:"replicas"`
	Mode      string    `json:"mode"`
	BatchSize int       `json:"batch_size"`
	Of        analysis  `json:"per_device"`
	Work      layerPart `json:"most_flops"`
	Memory    layerPart `json:"most_bytes"`
}

// layerPart is the layer with the largest share of some quantity.
type layerPart struct {
	Layer string  `json:"layer"`
	Share float64 `json:"share"` // of the whole program
}

func (f *compileFlags) run(ctx context.Context, path string) (*compilation, error) {
	switch {
	case f.target == "":
		return nil, usagef("compile: --target names the devices, such as v5e:2x2")
	case f.mode != "" && f.mode != "train" && f.mode != "predict":
		return nil, usagef("--mode %q: unknown; expected train or predict", f.mode)
	case f.batchSize < 1:
		return nil, usagef("--batch-size %d: expected a positive number", f.batchSize)
	case openTarget == nil:
		return nil, fmt.Errorf("compile: this program was built without PJRT plugins; build it with: go build -tags pjrt ./cmd/keras")
	}
	t, err := openTarget(f.plugin, f.target)
	if err != nil {
		return nil, err
	}
	r, err := f.compileFor(ctx, t, path)
	if failed := t.Close(); err == nil {
		err = failed
	}
	return r, err
}

func (f *compileFlags) compileFor(ctx context.Context, t target, path string) (*compilation, error) {
	n := t.Devices()
	if f.batchSize%n != 0 {
		return nil, usagef("--batch-size %d: %s has %d cores, which need equal parts of a batch: choose a multiple of %d", f.batchSize, f.target, n, n)
	}
	devices := make([]kernels.Device, n)
	for i := range devices {
		devices[i] = kernels.Device{Kind: "cpu", Index: i} // where the step is traced; nothing runs
	}
	s, err := distribute.NewTPUStrategyOver(distribute.TPUOptions{Devices: devices})
	if err != nil {
		return nil, err
	}
	m, err := loadModel(path, distribute.Scope(s))
	if err != nil {
		return nil, err
	}
	r := &compilation{Target: f.target, Device: t.Model(), Replicas: n, Mode: f.mode, BatchSize: f.batchSize}
	if r.Mode == "" {
		r.Mode = "predict"
		if m.Optimizer() != nil {
			r.Mode = "train"
		}
	}
	p, err := f.program(ctx, m, r.Mode, n)
	if err != nil {
		return nil, err
	}
	r.Work = most(p, func(n *ir.Node) float64 { return float64(p.FLOPs(n)) })
	r.Memory = most(p, func(n *ir.Node) float64 {
		bytes := 0
		for _, v := range n.Outputs {
			bytes += p.Type(v).Bytes()
		}
		return float64(bytes)
	})
	r.Of, err = t.Compile(p)
	return r, err
}

// program returns the step of one replica.
func (f *compileFlags) program(ctx context.Context, m *keras.Model, mode string, replicas int) (*ir.Program, error) {
	if mode == "predict" {
		return m.InferenceProgram(f.batchSize / replicas)
	}
	made, err := newSynthetic(ctx, m, f.batchSize, false)
	if err != nil {
		return nil, err
	}
	whole, err := m.InferenceProgram(f.batchSize)
	if err != nil {
		return nil, err
	}
	kinds, err := lossNames(m, len(whole.Outputs))
	if err != nil {
		return nil, err
	}
	for i, out := range whole.Outputs {
		shape := append([]int{}, whole.Type(out.Value).Shape...)
		for i, n := range shape {
			if n < 0 { // an open axis
				shape[i] = openAxis
			}
		}
		made.batch.Y.Arrays = append(made.batch.Y.Arrays, randomTarget(rand.New(rand.NewPCG(1, 2)), shape, kinds[i]))
	}
	return m.TrainingProgram(ctx, data.Arrays(made.batch.X, made.batch.Y))
}

// most finds the layer with the largest share of a sum over the nodes of a program. The first two names of a path
// identify the layer.
func most(p *ir.Program, of func(n *ir.Node) float64) layerPart {
	total, parts := 0.0, map[string]float64{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := of(n)
		total += v
		names := strings.Split(n.Scope, "/")
		parts[strings.Join(names[:min(2, len(names))], "/")] += v
	}
	best := layerPart{}
	for name, v := range parts {
		if share := v / max(total, 1); name != "" && (share > best.Share || share == best.Share && name < best.Layer) {
			best = layerPart{name, share}
		}
	}
	return best
}

// write prints a table.
func (r *compilation) write(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
	line("target", fmt.Sprintf("%s: %d x %s", r.Target, r.Replicas, r.Device))
	line("step", fmt.Sprintf("%s, batch of %d, %d on each", r.Mode, r.BatchSize, r.BatchSize/r.Replicas))
	line("arithmetic", fmt.Sprintf("%.4g GFLOP on each", r.Of.FLOPs/1e9))
	for _, m := range []struct {
		name  string
		bytes int64
	}{
		{"peak memory", r.Of.Peak}, {"arguments", r.Of.Arguments}, {"of them replaced in place", r.Of.Aliased}, {"intermediate values", r.Of.Temporary}, {"code", r.Of.Code},
	} {
		line(m.name, fmt.Sprintf("%.4g MB", float64(m.bytes)/1e6))
	}
	for _, p := range slices.Backward([]struct {
		name string
		part layerPart
	}{{"largest results", r.Memory}, {"most arithmetic", r.Work}}) {
		if p.part.Layer != "" {
			line(p.name, fmt.Sprintf("%s, %.0f %%", p.part.Layer, 100*p.part.Share))
		}
	}
	return w.Flush()
}
