package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// row is one call at one size.
type row struct {
	name, size string
	gradients  bool
	bytes      int
	ours       float64            // seconds
	peers      map[string]float64 // seconds; absent where the peer cannot do it
}

func measureRow(b benchmark, size string, gradients bool, peers *peers, rounds int) (row, error) {
	r := row{name: b.Name, size: size, gradients: gradients, ours: math.Inf(1), peers: map[string]float64{}}
	t, err := newTimer(b, gradients)
	if err != nil {
		return r, err
	}
	defer t.close()
	r.bytes = t.bytes
	ready := peers.prepare(b, gradients)
	for range rounds {
		d, err := t.measure()
		if err != nil {
			return r, err
		}
		r.ours = min(r.ours, d)
		for _, name := range ready {
			if d, ok := peers.measure(name); ok {
				if best, has := r.peers[name]; !has || d < best {
					r.peers[name] = d
				}
			}
		}
	}
	return r, nil
}

// ratio is the best peer's time by ours: above 1 we are faster.
func (r row) ratio() (ratio float64, best string, ok bool) {
	least := math.Inf(1)
	for name, d := range r.peers {
		if d < least {
			least, best = d, name
		}
	}
	return least / r.ours, best, best != ""
}

func (r row) what() string {
	if r.gradients {
		return "gradient"
	}
	return "forward"
}

func (r row) String() string {
	ratio, best, _ := r.ratio()
	return fmt.Sprintf("%-28s %-7s %-8s %10.1f us  %5.2f of %s", r.name, r.size, r.what(), r.ours*1e6, ratio, best)
}

func writeHead(s *strings.Builder) {
	s.WriteString("# Every function of keras.ops beside PyTorch and JAX\n\n" +
		"One thread, float32. Written by `make bench-ops` (`internal/benchops`), which takes the functions from the registry: the operands are 128 KB (L2),\n" +
		"2 MB (L3) or 64 MB (beyond); times are the best of three rounds, in microseconds, with the processes measured in turn. PyTorch computes Keras's function\n" +
		"eagerly, JAX compiled. The ratio is the time of the best of them by ours: below 1 we are behind. Gradients are of the sum of the first result, with the\n" +
		"forward pass as far as it is needed.\n\n" +
		"| function | size | | ours | PyTorch | JAX | ratio |\n|---|---|---|---|---|---|---|\n")
}

func (r row) write(s *strings.Builder) {
	cell := func(name string) string {
		if d, ok := r.peers[name]; ok {
			return fmt.Sprintf("%.1f", d*1e6)
		}
		return ""
	}
	ratio := ""
	if v, _, ok := r.ratio(); ok {
		ratio = fmt.Sprintf("%.2f", v)
		if v < 1 {
			ratio = "**" + ratio + "**"
		}
	}
	fmt.Fprintf(s, "| `%s` | %s | %s | %.1f | %s | %s | %s |\n", r.name, r.size, r.what(), r.ours*1e6, cell("torch"), cell("jax"), ratio)
}

// summary holds the ratios of all rows.
type summary struct{ ratios []float64 }

func (s *summary) add(r row) {
	if v, _, ok := r.ratio(); ok {
		s.ratios = append(s.ratios, v)
	}
}

func (s *summary) text() string {
	if len(s.ratios) == 0 {
		return ""
	}
	slices.Sort(s.ratios)
	behind := 0
	for _, v := range s.ratios {
		if v < 1 {
			behind++
		}
	}
	at := func(q float64) float64 { return s.ratios[int(q*float64(len(s.ratios)-1))] }
	return fmt.Sprintf("\n%d rows with a peer: %d below 1, worst %.2f, a tenth below %.2f, median %.2f, a tenth above %.2f.\n", len(s.ratios), behind, s.ratios[0],
		at(0.1), at(0.5), at(0.9))
}
