package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// row is one call at one size.
type row struct {
	Name      string             `json:"name"`
	Size      string             `json:"size"`
	Gradients bool               `json:"gradients"`
	Bytes     int                `json:"bytes"`
	Ours      float64            `json:"ours"`  // seconds
	Peers     map[string]float64 `json:"peers"` // seconds; absent where the peer cannot do it
}

// results are what was measured so far.
type results struct {
	list []row
	file string
}

// readResults returns the rows that a file has; none where there is no file, or no name of one.
func readResults(file string) (*results, error) {
	s := &results{file: file}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", file, len(s.list), err)
		}
		s.list = append(s.list, r)
	}
	return s, nil
}

func (s *results) has(name, size string, gradients bool) bool {
	return slices.ContainsFunc(s.list, func(r row) bool { return r.Name == name && r.Size == size && r.Gradients == gradients })
}

func (s *results) add(r row) error {
	s.list = append(s.list, r)
	if s.file == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func (s *results) text() string {
	var b strings.Builder
	writeHead(&b)
	sum := summary{}
	for _, r := range s.list {
		r.write(&b)
		sum.add(r)
	}
	return b.String() + sum.text()
}

func measureRow(b benchmark, size string, gradients bool, peers *peers, rounds int) (row, error) {
	r := row{Name: b.Name, Size: size, Gradients: gradients, Ours: math.Inf(1), Peers: map[string]float64{}}
	t, err := newTimer(b, gradients)
	if err != nil {
		return r, err
	}
	defer t.close()
	r.Bytes = t.bytes
	ready := peers.prepare(b, gradients)
	for range rounds {
		d, err := t.measure()
		if err != nil {
			return r, err
		}
		r.Ours = min(r.Ours, d)
		for _, name := range ready {
			if d, ok := peers.measure(name); ok {
				if best, has := r.Peers[name]; !has || d < best {
					r.Peers[name] = d
				}
			}
		}
	}
	return r, nil
}

// ratio is the best peer's time by ours: above 1 we are faster.
func (r row) ratio() (ratio float64, best string, ok bool) {
	least := math.Inf(1)
	for name, d := range r.Peers {
		if d < least {
			least, best = d, name
		}
	}
	return least / r.Ours, best, best != ""
}

func (r row) what() string {
	if r.Gradients {
		return "gradient"
	}
	return "forward"
}

func (r row) String() string {
	ratio, best, _ := r.ratio()
	return fmt.Sprintf("%-28s %-7s %-8s %10.1f us  %5.2f of %s", r.Name, r.Size, r.what(), r.Ours*1e6, ratio, best)
}

func writeHead(s *strings.Builder) {
	s.WriteString("# Every function of keras.ops beside PyTorch and JAX\n\n" +
		"One thread, float32. Written by `make bench-ops` (`internal/benchops`), which takes the functions from the registry: the operands are 128 KB (L2),\n" +
		"2 MB (L3) or 64 MB (beyond); times are processor time, the least of three rounds, in microseconds, with the processes measured in turn. PyTorch computes\n" +
		"Keras's function eagerly, JAX compiled. The ratio is the time of the best of them by ours: below 1 we are behind. Gradients are those of the first\n" +
		"result, weighed by random numbers, with the forward pass as far as it is needed.\n\n" +
		"| function | size | | ours | PyTorch | JAX | ratio |\n|---|---|---|---|---|---|---|\n")
}

func (r row) write(s *strings.Builder) {
	cell := func(name string) string {
		if d, ok := r.Peers[name]; ok {
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
	fmt.Fprintf(s, "| `%s` | %s | %s | %.1f | %s | %s | %s |\n", r.Name, r.Size, r.what(), r.Ours*1e6, cell("torch"), cell("jax"), ratio)
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
