package callbacks

import "slices"

// History records the logs of each epoch. Fit adds one and returns it.
type History struct {
	Base
	// Epoch lists the epochs that were run, from 0.
	Epoch []int
	// Logs maps each name to its values. Names that do not occur in every epoch (of validation that runs every few
	// epochs) have fewer values. For a metric with a vector result it holds the first number; Vectors holds all of
	// them.
	Logs map[string][]float64
	// Vectors maps the name of each metric with a vector result to its values.
	Vectors map[string][][]float64

	order []string         // of the names, as the logs had them
	rows  map[string][]int // the place in Epoch of each value
}

// OnTrainBegin starts an empty record.
func (h *History) OnTrainBegin() error {
	h.Epoch, h.Logs, h.Vectors = nil, map[string][]float64{}, map[string][][]float64{}
	h.order, h.rows = nil, map[string][]int{}
	return nil
}

// OnEpochEnd records the epoch.
func (h *History) OnEpochEnd(epoch int, logs *Logs) error {
	h.Epoch = append(h.Epoch, epoch)
	for _, name := range logs.Names() {
		v := logs.Vector(name)
		if len(v) == 0 {
			continue
		}
		h.Logs[name] = append(h.Logs[name], v[0])
		h.rows[name] = append(h.rows[name], len(h.Epoch)-1)
		if len(v) > 1 {
			h.Vectors[name] = append(h.Vectors[name], slices.Clone(v))
		}
	}
	if len(logs.Names()) > len(h.order) {
		h.order = slices.Clone(logs.Names())
	}
	return logs.Err()
}

// WantsBatches reports that History uses epoch hooks only.
func (h *History) WantsBatches() bool { return false }

// Last returns the value of the last epoch that has one.
func (h *History) Last(name string) (float64, bool) {
	v := h.Logs[name]
	if len(v) == 0 {
		return 0, false
	}
	return v[len(v)-1], true
}

// Names returns the recorded names in alphabetical order.
func (h *History) Names() []string {
	names := make([]string, 0, len(h.Logs))
	for name := range h.Logs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
