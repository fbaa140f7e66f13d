package callbacks

import (
	"bytes"
	"encoding/gob"
)

// Stateful is implemented by callbacks that remember something between epochs. A worker that joins a run of several
// workers takes over the state of the callback of the same type on another worker. A run that resumes from a backup
// takes over the state of that time.
type Stateful interface {
	// State returns the callback's state, in its own format.
	State() ([]byte, error)
	// SetState restores it. It is called after OnTrainBegin.
	SetState(state []byte) error
}

var (
	_ Stateful = (*History)(nil)
	_ Stateful = (*EarlyStopping)(nil)
	_ Stateful = (*ReduceLROnPlateau)(nil)
	_ Stateful = (*LearningRateScheduler)(nil)
	_ Stateful = (*ModelCheckpoint)(nil)
	_ Stateful = (*BackupAndRestore)(nil)
	_ Stateful = (*CSVLogger)(nil)
	_ Stateful = (*SwapEMAWeights)(nil)
	_ Stateful = (*TensorBoard)(nil)
)

// pack encodes the values, which are pointers.
func pack(values ...any) ([]byte, error) {
	var b bytes.Buffer
	e := gob.NewEncoder(&b)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// unpack decodes what pack made of values of the same types.
func unpack(state []byte, values ...any) error {
	d := gob.NewDecoder(bytes.NewReader(state))
	for _, v := range values {
		if err := d.Decode(v); err != nil {
			return err
		}
	}
	return nil
}

// monitorState is the state of a monitor.
type monitorState struct {
	Larger, Resolved, HasBest, Warned bool
	Best                              float64
}

func (m *monitor) state() *monitorState {
	return &monitorState{m.larger, m.resolved, m.hasBest, m.warned, m.best}
}

func (m *monitor) setState(s *monitorState) {
	m.larger, m.resolved, m.hasBest, m.warned, m.best = s.Larger, s.Resolved, s.HasBest, s.Warned, s.Best
}

// State returns the record.
func (h *History) State() ([]byte, error) {
	return pack(&h.Epoch, &h.Logs, &h.Vectors, &h.order, &h.rows)
}

// SetState replaces the record.
func (h *History) SetState(state []byte) error {
	var fresh History
	if err := unpack(state, &fresh.Epoch, &fresh.Logs, &fresh.Vectors, &fresh.order, &fresh.rows); err != nil {
		return err
	}
	h.Epoch, h.Logs, h.Vectors, h.order, h.rows = fresh.Epoch, fresh.Logs, fresh.Vectors, fresh.order, fresh.rows
	if h.rows == nil {
		h.rows = map[string][]int{}
	}
	if h.Logs == nil {
		h.Logs = map[string][]float64{}
	}
	if h.Vectors == nil {
		h.Vectors = map[string][][]float64{}
	}
	return nil
}

// State returns the best value and weights so far, and the wait count.
func (c *EarlyStopping) State() ([]byte, error) {
	return pack(c.monitor.state(), &c.wait, &c.stoppedEpoch, &c.bestEpoch, &c.bestWeights)
}

// SetState replaces them.
func (c *EarlyStopping) SetState(state []byte) error {
	var m monitorState
	c.wait, c.stoppedEpoch, c.bestEpoch, c.bestWeights = 0, 0, 0, nil
	if err := unpack(state, &m, &c.wait, &c.stoppedEpoch, &c.bestEpoch, &c.bestWeights); err != nil {
		return err
	}
	c.monitor.setState(&m)
	return nil
}

// State returns the best value so far, the wait count and the cooldown.
func (c *ReduceLROnPlateau) State() ([]byte, error) {
	return pack(c.monitor.state(), &c.wait, &c.cooldown)
}

// SetState replaces them.
func (c *ReduceLROnPlateau) SetState(state []byte) error {
	var m monitorState
	c.wait, c.cooldown = 0, 0
	if err := unpack(state, &m, &c.wait, &c.cooldown); err != nil {
		return err
	}
	c.monitor.setState(&m)
	return nil
}

// State returns the rate and the epoch that it belongs to.
func (c *LearningRateScheduler) State() ([]byte, error) { return pack(&c.next, &c.rate) }

// SetState replaces them.
func (c *LearningRateScheduler) SetState(state []byte) error {
	c.next, c.rate = 0, 0
	return unpack(state, &c.next, &c.rate)
}

// State returns the best value so far and the batches since the last file.
func (c *ModelCheckpoint) State() ([]byte, error) {
	return pack(c.monitor.state(), c.counter.state(), &c.epoch)
}

// SetState replaces them.
func (c *ModelCheckpoint) SetState(state []byte) error {
	var m monitorState
	var n counterState
	c.epoch = 0
	if err := unpack(state, &m, &n, &c.epoch); err != nil {
		return err
	}
	c.monitor.setState(&m)
	c.counter.setState(&n)
	return nil
}

// State returns the batches since the last backup.
func (c *BackupAndRestore) State() ([]byte, error) { return pack(c.counter.state()) }

// SetState replaces them.
func (c *BackupAndRestore) SetState(state []byte) error {
	var n counterState
	if err := unpack(state, &n); err != nil {
		return err
	}
	c.counter.setState(&n)
	return nil
}

// counterState is the state of a batchCounter.
type counterState struct{ Last, Since int }

func (b *batchCounter) state() *counterState { return &counterState{b.last, b.since} }

func (b *batchCounter) setState(s *counterState) { b.last, b.since = s.Last, s.Since }

// State returns the weights that the averages stand in for between epochs.
func (c *SwapEMAWeights) State() ([]byte, error) { return pack(&c.held) }

// SetState replaces them.
func (c *SwapEMAWeights) SetState(state []byte) error {
	c.held = nil
	return unpack(state, &c.held)
}

// State returns the number of batches so far.
func (c *TensorBoard) State() ([]byte, error) { return pack(&c.batch) }

// SetState replaces it.
func (c *TensorBoard) SetState(state []byte) error {
	c.batch = 0
	return unpack(state, &c.batch)
}
