package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
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
		rest()
		d, err := t.measure()
		if err != nil {
			return r, err
		}
		r.Ours = min(r.Ours, d)
		for _, name := range ready {
			rest()
			if d, ok := peers.measure(name); ok {
				if best, has := r.Peers[name]; !has || d < best {
					r.Peers[name] = d
				}
			}
		}
	}
	return r, nil
}

// rest waits until no other process's threads wait actively for work any more, which takes them processors: those of
// OpenMP do so for 200 ms.
func rest() {
	if threads > 1 {
		time.Sleep(250 * time.Millisecond)
	}
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
