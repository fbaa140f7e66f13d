package keras

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/recovery"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// runState is what a worker needs, besides the variables, to continue where another one is.
type runState struct {
	At        recovery.State
	Progress  progress
	Steps     uint32
	Trained   int
	Stopped   bool
	Reset     bool
	Last      *epochLogs
	Share     shared
	Callbacks []callbackState
	Variables []stateVariable // sent after it
}

// callbackState is the saved state of a callback.
type callbackState struct {
	Type  string
	State []byte
}

// maxRunState limits the size of what is accepted from another worker.
const maxRunState = 1 << 32

// callbackStates collects the state of the run's callbacks.
func (t *trainer) callbackStates() ([]callbackState, error) {
	var list []callbackState
	for _, c := range t.all {
		if keeper, ok := c.(callbacks.Stateful); ok {
			state, err := keeper.State()
			if err != nil {
				return nil, fmt.Errorf("the state of %T: %w", c, err)
			}
			list = append(list, callbackState{fmt.Sprintf("%T", c), state})
		}
	}
	return list, nil
}

// setCallbackStates assigns states to callbacks: the k-th callback of a type on one worker corresponds to the k-th of
// that type on another, which may also have other callbacks.
func setCallbackStates(all []callbacks.Callback, states []callbackState) error {
	for _, c := range all {
		keeper, ok := c.(callbacks.Stateful)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%T", c)
		i := slices.IndexFunc(states, func(s callbackState) bool { return s.Type == name })
		if i < 0 {
			continue
		}
		if err := keeper.SetState(states[i].State); err != nil {
			return fmt.Errorf("taking over the state of %s: %w", name, err)
		}
		states = append(states[:i:i], states[i+1:]...)
	}
	return nil
}

// state describes the position of this worker, and its variables.
func (r *recoverer) state(variables []stateVariable) ([]byte, error) {
	m, now := r.t.m, r.t.now
	s := runState{At: r.machine.State(), Progress: now.at, Steps: m.steps, Trained: r.trained, Stopped: now.stopped.Load(), Reset: r.reset, Last: r.last, Share: r.share, Variables: variables}
	s.At.Place = recovery.Place{Epoch: now.at.Epoch, Done: now.at.Done}
	var err error
	if s.Callbacks, err = r.t.callbackStates(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(s)
	return b.Bytes(), err
}

// broadcastBytes sends bytes whose length only the root knows.
func broadcastBytes(ctx context.Context, g distribute.WorkerGroup, root int, data []byte) ([]byte, error) {
	length := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{1}})
	binary.LittleEndian.PutUint64(length.Data, uint64(len(data)))
	if err := g.Broadcast(ctx, distribute.WorkerCall{Name: "length of the state"}, root, []kernels.Array{length}); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length.Data)
	switch {
	case n > maxRunState:
		return nil, fmt.Errorf("worker %d has a state of %d bytes; at most %d are taken", root, n, uint64(maxRunState))
	case n == 0:
		return nil, nil
	}
	if uint64(len(data)) != n {
		data = make([]byte, n)
	}
	return data, g.Broadcast(ctx, distribute.WorkerCall{Name: "state"}, root, []kernels.Array{bytesArray(data)})
}

// shared is the state that each replica has for itself, of all replicas: metrics, and what layers keep between batches.
// Every worker has all of it after each step, so it survives the loss of its owner.
type shared struct {
	Replicas, Size int // Size bytes per replica, the metrics first
	Metrics        int // bytes of the metrics
	Data           []byte

	due bool // the layers still have to take theirs

	inst   *distribute.Instance // the instance that the following belongs to
	next   [][]kernels.Buffer   // by local replica: values after the step
	layers distribute.Variables
	spare  []byte
	arrays []kernels.Array
}

// sharedMetrics returns what a backup stores of it.
func sharedMetrics(m measures) shared {
	return shared{Replicas: m.replicas, Size: len(m.data) / m.replicas, Metrics: len(m.data) / m.replicas, Data: m.data}
}

// metrics cuts out the metrics.
func (s *shared) metrics(size int) measures {
	out := measures{s.Replicas, make([]byte, 0, s.Replicas*size)}
	for i := range s.Replicas {
		out.data = append(out.data, s.Data[i*s.Size:][:size]...)
	}
	return out
}

// fits restores the layers' state. It fails if that cannot be divided among another number of replicas.
func (s *shared) fits(m *Model) error {
	if s.Size > s.Metrics && s.Replicas != m.strategy.NumReplicasInSync() {
		return fmt.Errorf("model %q has layers that keep a state between batches, of which each replica has its rows, so it cannot go on with %d replicas where it had %d; keep the number of workers (Elastic with Min equal to Max)",
			m.Name(), m.strategy.NumReplicasInSync(), s.Replicas)
	}
	s.due = s.Size > s.Metrics
	return s.restoreLayers(m)
}

// bind prepares for the steps of an instance.
func (s *shared) bind(m *Model, inst *distribute.Instance) error {
	if s.inst == inst {
		return nil
	}
	metrics := m.metricVariables()
	layers := slices.DeleteFunc(inst.OnReadVariables(), func(v *distribute.Variable) bool { return slices.Contains(metrics, v) })
	s.next = nil
	for r := range m.strategy.Devices() {
		var list []kernels.Buffer
		for _, v := range append(slices.Clone(metrics), layers...) {
			b, err := inst.Next(r, v)
			if err != nil {
				return err
			}
			list = append(list, b)
		}
		s.next = append(s.next, list)
	}
	s.inst, s.layers, s.Metrics = inst, layers, bytesOf(metrics)
	return s.restoreLayers(m) // if that is due
}

// restoreLayers restores the state of the layers, once they are known.
func (s *shared) restoreLayers(m *Model) error {
	if !s.due || s.layers == nil {
		return nil
	}
	s.due = false
	if size := bytesOf(s.layers); size != s.Size-s.Metrics {
		return fmt.Errorf("the layers keep a state of %d bytes on each replica, that of the other workers has %d", size, s.Size-s.Metrics)
	}
	_, first := distribute.SplitOverWorkers(m.strategy, 0)
	for r := range m.strategy.Devices() {
		from := s.Data[(first+r)*s.Size+s.Metrics:]
		for _, v := range s.layers {
			b, err := v.Buffer(r)
			if err == nil {
				err = b.Write(from[:v.Type().Bytes()])
			}
			if err != nil {
				return err
			}
			from = from[v.Type().Bytes():]
		}
	}
	return nil
}

// exchange sends the others the state of this worker's replicas after the computed step, and receives theirs. It
// allocates nothing.
func (s *shared) exchange(ctx context.Context, g distribute.WorkerGroup, first int) error {
	size := s.Metrics + bytesOf(s.layers)
	n := g.Size() * len(s.next) * size
	if len(s.spare) != n {
		s.spare = make([]byte, n)
	}
	if len(s.arrays) == 0 || s.arrays[0].Type.Bytes() != n { // the memory belonged to a previous group
		s.arrays = []kernels.Array{bytesArray(s.spare)}
	}
	clear(s.spare)
	for r, list := range s.next {
		at := s.spare[(first+r)*size:]
		for _, b := range list {
			n := b.Type().Bytes()
			if err := b.Read(at[:n]); err != nil {
				return err
			}
			at = at[n:]
		}
	}
	s.arrays[0].Data = s.spare
	return g.AllReduce(ctx, distribute.WorkerCall{Name: "state of replicas"}, ir.Max, s.arrays)
}

// keep makes the exchanged values the current state.
func (s *shared) keep() {
	s.Size = s.Metrics + bytesOf(s.layers)
	s.Replicas = len(s.spare) / max(s.Size, 1)
	s.Data, s.spare = s.spare, s.Data
}

// afterEpoch does exchange and keep for layers whose state a validation has changed.
func (s *shared) afterEpoch(ctx context.Context, m *Model, g distribute.WorkerGroup, first int) error {
	if len(s.layers) == 0 {
		return nil
	}
	for r, list := range s.next {
		for i := range list {
			b, err := s.variable(m, i).Buffer(r)
			if err != nil {
				return err
			}
			list[i] = b
		}
	}
	s.inst = nil // the buffers of its steps are bound again
	err := s.exchange(ctx, g, first)
	if err == nil {
		s.keep()
	}
	return err
}

// variable returns the i-th variable of the state.
func (s *shared) variable(m *Model, i int) *distribute.Variable {
	metrics := m.metricVariables()
	if i < len(metrics) {
		return metrics[i]
	}
	return s.layers[i-len(metrics)]
}
