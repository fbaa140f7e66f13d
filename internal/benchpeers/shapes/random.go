package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// draws are the kinds that drawn draws, each with how it draws one.
var draws = []struct {
	kind string
	draw func(r *rand.Rand) spec
}{
	{"dense", func(r *rand.Rand) spec {
		return spec{Kind: "dense", Input: []int{between(r, 16, 4096), between(r, 16, 4096)}, Filters: between(r, 16, 4096)}
	}},
	{"conv", func(r *rand.Rand) spec {
		s := spec{Kind: "conv", Filters: between(r, 8, 512), Kernel: 1 + r.IntN(5), Stride: 1, Dilation: 1, Groups: 1, Input: images(r, 1+r.IntN(3), 8, 512)}
		switch r.IntN(4) {
		case 0:
			s.Stride = 2
		case 1:
			s.Dilation = 1 + r.IntN(3)
		case 2:
			s.Groups = 1 << (1 + r.IntN(4))
			last := len(s.Input) - 1
			s.Input[last], s.Filters = roundUp(s.Input[last], s.Groups), roundUp(s.Filters, s.Groups)
		}
		return s
	}},
	{"depthwise", func(r *rand.Rand) spec {
		return spec{Kind: "depthwise", Input: images(r, 2, 8, 512), Kernel: 2 + r.IntN(6), Stride: 1 + r.IntN(2), Filters: 1 + r.IntN(5)/4}
	}},
	{"depthwise1d", func(r *rand.Rand) spec {
		return spec{Kind: "depthwise", Input: images(r, 1, 8, 512), Kernel: 2 + r.IntN(8), Stride: 1 + r.IntN(2), Filters: 1 + r.IntN(5)/4}
	}},
	{"separable", func(r *rand.Rand) spec {
		return spec{Kind: "separable", Input: images(r, 2, 8, 512), Filters: between(r, 8, 512), Kernel: 2 + r.IntN(4), Stride: 1 + r.IntN(2)}
	}},
	{"lstm", func(r *rand.Rand) spec { return recurrent(r, "lstm") }},
	{"gru", func(r *rand.Rand) spec { return recurrent(r, "gru") }},
	{"bidirectional", func(r *rand.Rand) spec { return recurrent(r, "bidirectional") }},
	{"convlstm", func(r *rand.Rand) spec {
		s := spec{Kind: "convlstm", Input: images(r, 2, 2, 64), Filters: between(r, 4, 64), Kernel: 1 + r.IntN(5)}
		steps := between(r, 2, 16)
		s.Input = slices.Insert(s.Input, 1, steps)
		s.Input[0] = max(1, s.Input[0]/steps)
		return s
	}},
	{"einsumdense", func(r *rand.Rand) spec {
		return spec{Kind: "einsumdense", Input: []int{between(r, 1, 64), between(r, 4, 256), between(r, 8, 1024)}, Heads: between(r, 1, 16), Filters: between(r, 4, 128)}
	}},
	{"mha", func(r *rand.Rand) spec { return heads(r, "mha", 1) }},
	{"gqa", func(r *rand.Rand) spec { return heads(r, "gqa", 1<<(1+r.IntN(3))) }},
	{"transpose", func(r *rand.Rand) spec {
		k := 2 + r.IntN(4)
		return spec{Kind: "transpose", Input: images(r, 1+r.IntN(2), 8, 256), Filters: between(r, 8, 256), Kernel: k, Stride: 1 + r.IntN(min(k, 3))}
	}},
	{"attention", func(r *rand.Rand) spec {
		return spec{Kind: "attention", Input: []int{between(r, 1, 16), between(r, 16, 1024), between(r, 1, 16), 8 * between(r, 1, 16)}, Causal: r.IntN(2) == 0}
	}},
	{"groupnorm", func(r *rand.Rand) spec {
		s := spec{Kind: "groupnorm", Input: images(r, 2, 8, 256), Groups: 1 << r.IntN(6)}
		s.Input[3] = roundUp(s.Input[3], s.Groups)
		return s
	}},
	{"batchnorm", func(r *rand.Rand) spec { return spec{Kind: "batchnorm", Input: images(r, 2, 3, 512)} }},
	{"layernorm", func(r *rand.Rand) spec {
		return spec{Kind: "layernorm", Input: []int{between(r, 16, 16384), between(r, 1, 2048)}}
	}},
	{"softmax", func(r *rand.Rand) spec {
		return spec{Kind: "softmax", Input: []int{between(r, 16, 16384), between(r, 2, 4096)}}
	}},
	{"maxpool", func(r *rand.Rand) spec {
		return spec{Kind: "maxpool", Input: images(r, 2, 3, 256), Kernel: 2 + r.IntN(2), Stride: 1 + r.IntN(2)}
	}},
	{"avgpool", func(r *rand.Rand) spec {
		return spec{Kind: "avgpool", Input: images(r, 2, 3, 256), Kernel: 2 + r.IntN(2), Stride: 1 + r.IntN(2)}
	}},
	{"mlp", func(r *rand.Rand) spec {
		s := spec{Kind: "mlp", Input: []int{between(r, 1, 512), between(r, 8, 2048)}}
		for range 1 + r.IntN(3) {
			s.Widths = append(s.Widths, between(r, 8, 2048))
		}
		s.Widths = append(s.Widths, 10) // the classes that the loss of the peer's program counts with
		return s
	}},
	{"embedding", func(r *rand.Rand) spec {
		return spec{Kind: "embedding", Input: []int{between(r, 8, 512), between(r, 4, 128)}, Rows: between(r, 100, 200000), Filters: between(r, 4, 512)}
	}},
	{"upsampling", func(r *rand.Rand) spec {
		s := spec{Kind: "upsampling", Input: images(r, 1+r.IntN(3), 1, 256), Stride: 2 + r.IntN(3)/2}
		for float64(ir.Shape(s.Input).Size())*math.Pow(float64(s.Stride), float64(len(s.Input)-2)) > 8e6 && s.Input[0] > 1 {
			s.Input[0] /= 2
		}
		s.Bilinear = len(s.Input) == 4 && r.IntN(2) == 0
		return s
	}},
}

// recurrent draws a layer over sequences: batch, steps, numbers of a step, units.
func recurrent(r *rand.Rand, kind string) spec {
	return spec{Kind: kind, Input: []int{between(r, 1, 128), between(r, 2, 128), between(r, 4, 512)}, Filters: between(r, 4, 512)}
}

// heads draws an attention layer over itself, in which groups of heads share key and value: batch, steps, features.
func heads(r *rand.Rand, kind string, shared int) spec {
	s := spec{Kind: kind, Shared: shared, Heads: roundUp(between(r, 1, 16), shared), Filters: between(r, 8, 128)}
	s.Input = []int{between(r, 1, 16), between(r, 8, 512), between(r, 16, 1024)}
	s.Masked, s.Causal = r.IntN(3) < 2, r.IntN(2) == 0
	return s
}

// between draws from low to high, each power of two as often as the others.
func between(r *rand.Rand, low, high int) int {
	x := math.Exp(math.Log(float64(low)) + r.Float64()*math.Log(float64(high)/float64(low)))
	return min(max(int(x+0.5), low), high)
}

// images draws a batch of images, or of what has another number of axes, that has at most some 4 million numbers.
func images(r *rand.Rand, axes, low, high int) []int {
	c := between(r, low, high)
	side := between(r, 4, map[int]int{1: 1024, 2: 112, 3: 24}[axes])
	shape := []int{between(r, 1, 64)}
	for range axes {
		shape = append(shape, side)
	}
	for shape[0] > 1 && float64(shape[0]*c)*math.Pow(float64(side), float64(axes)) > 4e6 {
		shape[0] /= 2
	}
	return append(shape, c)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// drawn draws count specs of each kind; the same seed draws the same ones. What would compute for seconds is drawn
// again.
func drawn(count int, seed uint64) []spec {
	var list []spec
	for k, d := range slices.Concat(draws, everyShape, optionKinds) {
		r := rand.New(rand.NewPCG(seed, uint64(k)))
		for i := range count {
			s := d.draw(r)
			for s.cost() > 2e10 {
				s = d.draw(r)
			}
			s.Key = fmt.Sprintf("%s-%d: %s", d.kind, i, s.String())
			if !strings.HasPrefix(d.kind, s.Kind) {
				s.Key += " " + s.Kind
			}
			list = append(list, s)
		}
	}
	return list
}

// cost estimates the floating-point operations of a result, generously.
func (s *spec) cost() float64 {
	size := 2.0
	for _, n := range s.Input {
		size *= float64(n)
	}
	switch s.Kind {
	case "conv", "transpose":
		if s.Padding != "" {
			return size * float64(s.Filters*ir.Shape(s.Windows).Size()) / float64(max(s.Groups, 1))
		}
		return size * float64(s.Filters) * math.Pow(float64(s.Kernel), float64(len(s.Input)-2)) / float64(max(s.Groups, 1))
	case "dense", "separable":
		return size * float64(s.Filters)
	case "lstm", "gru", "simplernn":
		return 4 * size * float64(s.Filters) * (1 + float64(s.Filters)/float64(s.Input[2]))
	case "additive":
		return 20 * size * float64(s.Input[1])
	case "attention":
		return 2 * size * float64(s.Input[1])
	case "bidirectional":
		return 8 * size * float64(s.Filters) * (1 + float64(s.Filters)/float64(s.Input[2]))
	case "convlstm":
		return 4 * size * float64(s.Filters*s.Kernel*s.Kernel) * (1 + float64(s.Filters)/float64(s.Input[4]))
	case "einsumdense":
		return size * float64(s.Heads*s.Filters)
	case "mha", "gqa":
		return s.headFLOPs()
	}
	return size
}

// String returns the arguments of a spec.
func (s *spec) String() string {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Input), " ", "x"), "[]")
	for _, f := range []struct {
		name  string
		value int
	}{{"to", s.Filters}, {"window", s.Kernel}, {"stride", s.Stride}, {"dilation", s.Dilation}, {"groups", s.Groups}, {"rows", s.Rows}, {"heads", s.Heads}, {"shared by", s.Shared}, {"steps", s.Steps}} {
		if f.value > 1 {
			text += fmt.Sprintf(" %s %d", f.name, f.value)
		}
	}
	for _, f := range []struct {
		name   string
		values []int
	}{{"window", s.Windows}, {"strides", s.Strides}, {"dilations", s.Dilations}, {"axes", s.Axes}, {"sizes", s.Sizes}} {
		if slices.ContainsFunc(f.values, func(n int) bool { return n > 1 }) {
			text += " " + f.name + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(f.values), " ", "x"), "[]")
		}
	}
	if s.Padding != "" {
		text += " " + s.Padding
	}
	if s.First {
		text += " channels first"
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"bilinear", s.Bilinear}, {s.Mode, s.Mode != ""}, {"antialias", s.Antialias}, {"causal", s.Causal}, {"masked", s.Masked}, {"backwards", s.Backwards},
		{"last", s.Last}, {fmt.Sprintf("dropout %.1f", s.Dropout), s.Dropout > 0}} {
		if f.on {
			text += " " + f.name
		}
	}
	if len(s.Widths) > 0 {
		text += " to " + strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Widths), " ", "-"), "[]")
	}
	return text
}

// measured is a ratio of a table.
type measured struct {
	kind, mode string
	ratio      float64
}

// summary prints how the ratios of each kind are distributed; nothing where there are none.
func summary(out io.Writer, rows []measured) {
	kinds := map[string][]float64{}
	var order []string
	for _, m := range rows {
		if m.ratio <= 0 {
			continue
		}
		kind := m.kind + ", " + m.mode
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], m.ratio)
	}
	if len(order) > 0 {
		fmt.Fprintf(out, "\n| kind | of | worst | first tenth | median | best |\n|---|---|---|---|---|---|\n")
	}
	for _, kind := range order {
		x := kinds[kind]
		slices.Sort(x)
		fmt.Fprintf(out, "| %s | %d | %.2f | %.2f | %.2f | %.2f |\n", kind, len(x), x[0], x[len(x)/10], x[len(x)/2], x[len(x)-1])
	}
}
