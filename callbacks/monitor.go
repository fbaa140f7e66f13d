package callbacks

import (
	"fmt"
	"slices"
	"strings"
)

// defaultMonitor is the name of the value that callbacks monitor by default.
const defaultMonitor = "val_loss"

// monitor is what EarlyStopping, ModelCheckpoint and ReduceLROnPlateau share: the value that they monitor, its
// direction, and the best one so far.
type monitor struct {
	owner    string // the callback's name, for messages
	name     string
	mode     string
	delta    float64 // an improvement is larger than this
	larger   bool    // larger values are better
	resolved bool    // larger is known
	best     float64
	hasBest  bool
	warned   bool
}

// start begins a run. An unknown mode falls back to "auto" with a warning, as in Keras.
func (m *monitor) start(owner, name, mode string, delta float64, model Model) {
	if name == "" {
		name = defaultMonitor
	}
	if mode == "" {
		mode = "auto"
	}
	if !slices.Contains([]string{"auto", "min", "max"}, mode) {
		fmt.Fprintf(model.Output(), "%s mode '%s' is unknown, fallback to auto mode.\n", owner, mode)
		mode = "auto"
	}
	*m = monitor{owner: owner, name: name, mode: mode, delta: max(delta, -delta)}
}

// resolve finds the direction. It waits for the end of the first epoch, because all metrics are known only then.
func (m *monitor) resolve(model Model, logs *Logs) error {
	if m.resolved {
		return nil
	}
	direction := m.mode
	if direction == "auto" {
		direction = model.Direction(m.name)
	}
	switch direction {
	case "min":
		m.larger = false
	case "max":
		m.larger = true
	default:
		if _, there := logs.Get(m.name); !there {
			return fmt.Errorf("callbacks: %s received Monitor %q, but it is not known whether that metric should be maximized or minimized, and no value has that name; there are %s. Set Mode to \"max\" or \"min\" for one that comes later",
				m.owner, m.name, strings.Join(logs.Names(), ", "))
		}
		return fmt.Errorf("callbacks: %s received Monitor %q, but it is not known whether that metric should be maximized or minimized; set Mode to \"max\" to look for the highest value, or to \"min\" for the lowest", m.owner, m.name)
	}
	m.resolved = true
	return nil
}

// value returns the monitored value; ok is false if the logs lack it. Several numbers are an error.
func (m *monitor) value(logs *Logs) (v float64, ok bool, err error) {
	numbers := logs.Vector(m.name)
	if err := logs.Err(); err != nil {
		return 0, false, err
	}
	if len(numbers) > 1 {
		return 0, false, fmt.Errorf("callbacks: %s: the value of %q has %d numbers; monitor a metric with one", m.owner, m.name, len(numbers))
	}
	if len(numbers) == 0 {
		return 0, false, nil
	}
	return numbers[0], true, nil
}

// improves reports whether v is better than reference by more than delta. Like Keras, it compares in single precision,
// whatever the precision of the model, so differences that float32 cannot represent do not count. A comparison with NaN
// is false.
func (m *monitor) improves(v, reference float64) bool {
	if m.larger {
		return float32(v-m.delta) > float32(reference)
	}
	return float32(v+m.delta) < float32(reference)
}

// improvesBest compares v with the best value; the first value always improves.
func (m *monitor) improvesBest(v float64) bool { return !m.hasBest || m.improves(v, m.best) }

func (m *monitor) keep(v float64) { m.best, m.hasBest = v, true }

// warn prints a warning once per run.
func (m *monitor) warn(model Model, format string, args ...any) {
	if !m.warned {
		m.warned = true
		fmt.Fprintf(model.Output(), format+"\n", args...)
	}
}

// available lists the names of the logs as Keras's warnings do.
func available(logs *Logs) string { return strings.Join(logs.Names(), ",") }
