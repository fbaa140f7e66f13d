package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// stateVariable describes a variable that a worker sends.
type stateVariable struct {
	Name string // as in backups
	Type ir.Type
}

func (v stateVariable) equal(o stateVariable) bool { return v.Name == o.Name && v.Type.Equal(o.Type) }

// stateVariables lists the variables to hand over, with their descriptions.
func (m *Model) stateVariables() (list []stateVariable, vars distribute.Variables, err error) {
	names, all, err := m.backupVariables()
	for i, v := range all {
		if v.Spec().Synchronization != distribute.OnRead && v.Size() > 0 { // see distribute.ReceiveVariables
			list, vars = append(list, stateVariable{names[i], v.Type()}), append(vars, v)
		}
	}
	return list, vars, err
}

// transfer sends the state of a worker at the latest position to those that are behind. All workers of a new group call
// it. It reports whether this worker received the state, which is then in r.got. If the transfer fails, nothing has
// changed.
func (r *recoverer) transfer(ctx context.Context) (bool, error) {
	m := r.t.m
	own, vars, err := m.stateVariables()
	if err != nil {
		return false, err
	}
	if err := r.group.Agree(ctx, distribute.WorkerCall{Name: fmt.Sprintf("state of %q, seed %d", m.Name(), m.seed)}); err != nil {
		return false, err
	}
	roster := r.group.Roster()
	switch {
	case roster.Source < 0:
		return false, errors.New("no worker of the new group has the state of the training; start the job again from its backup")
	case len(roster.Behind) == 0:
		return false, nil
	}
	s, err := r.receiveState(ctx, roster.Source, own)
	if err != nil {
		return false, err
	}
	behind := slices.Contains(roster.Behind, r.group.Rank())
	same := slices.EqualFunc(own, s.Variables, stateVariable.equal)
	text := s.describe(m)
	if !same && !(behind && s.beyond(r.machine.Calls())) {
		mine := runState{Variables: own}
		text = fmt.Sprintf("%s, %s", mine.describe(m), unlike(own, s.Variables, roster.Source))
	}
	if err := r.group.Agree(ctx, distribute.WorkerCall{Name: text}); err != nil {
		return false, err
	}
	if !same {
		return true, r.takeForLater(ctx, roster.Source, s, own, vars)
	}
	mirrored, values, err := distribute.ReceiveVariables(ctx, m.strategy, vars, roster.Source)
	if err != nil || !behind {
		return false, err
	}
	if r.before, err = readAll(mirrored); err != nil {
		return false, err
	}
	if err := m.writeAll(mirrored, values); err != nil {
		return false, err
	}
	r.vars = mirrored
	r.took(s, values)
	return true, nil
}

// receiveState sends the state of this worker, or receives another's.
func (r *recoverer) receiveState(ctx context.Context, source int, own []stateVariable) (*runState, error) {
	var data []byte
	var err error
	if r.group.Rank() == source {
		if data, err = r.state(own); err != nil {
			return nil, err
		}
	}
	if data, err = broadcastBytes(ctx, r.group, source, data); err != nil {
		return nil, err
	}
	s := new(runState)
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(s); err != nil {
		return nil, fmt.Errorf("the state from worker %d cannot be read: %w", source, err)
	}
	total := 0
	for _, v := range s.Variables {
		if total += v.Type.Bytes(); total < 0 {
			return nil, fmt.Errorf("the state from worker %d has variables of more bytes than can be counted", source)
		}
	}
	return s, nil
}

// describe returns what workers agree on. It distinguishes models with equal numbers of variables.
func (s *runState) describe(m *Model) string {
	bytes := 0
	for _, v := range s.Variables {
		bytes += v.Type.Bytes()
	}
	return fmt.Sprintf("state of %q with %d weights and optimizer variables of %d bytes, seed %d", m.Name(), len(s.Variables), bytes, m.seed)
}

// unlike says in which variables a worker differs from another.
func unlike(own, theirs []stateVariable, rank int) string {
	for i, v := range own {
		if i < len(theirs) && !v.equal(theirs[i]) {
			return fmt.Sprintf("of which number %d is %s of %v where worker %d has %s of %v; run the same program on all", i, v.Name, v.Type, rank, theirs[i].Name, theirs[i].Type)
		}
	}
	return fmt.Sprintf("where worker %d has %d; run the same program on all", rank, len(theirs))
}

// beyond reports whether the sender of this state has finished the given number of Fits: it may have compiled the model
// again since.
func (s *runState) beyond(calls int) bool {
	return s.At.Fits > calls || s.At.Fits == calls && !s.At.Inside
}

// takeForLater receives the state of a model that was compiled again. The weights are taken over; the optimizer's part
// is kept until this worker has compiled the model too.
func (r *recoverer) takeForLater(ctx context.Context, source int, s *runState, own []stateVariable, vars distribute.Variables) error {
	values := make([]kernels.Array, len(s.Variables))
	for i, v := range s.Variables {
		values[i] = kernels.NewArray(v.Type)
	}
	if err := r.group.Broadcast(ctx, distribute.WorkerCall{Name: "variables"}, source, values); err != nil {
		return err
	}
	weights := map[*distribute.Variable]bool{}
	for _, v := range r.t.m.Weights() {
		weights[v] = true
	}
	var shared distribute.Variables
	var theirs []kernels.Array
	for i, v := range vars {
		k := slices.IndexFunc(s.Variables, own[i].equal)
		if k >= 0 && weights[v] {
			shared, theirs = append(shared, v), append(theirs, values[k])
		}
	}
	if err := r.t.m.writeAll(shared, theirs); err != nil {
		return err
	}
	r.vars, r.before = nil, nil
	r.took(s, values)
	return nil
}

// took records what was received.
func (r *recoverer) took(s *runState, values []kernels.Array) {
	r.t.m.steps = s.Steps
	r.got, r.values = s, values
	r.share.Replicas, r.share.Size, r.share.Metrics, r.share.Data = s.Share.Replicas, s.Share.Size, s.Share.Metrics, s.Share.Data
	r.reset, r.last, r.trained = s.Reset, s.Last, s.Trained
}

// rewrite assigns the values that were received last to the variables. The variables may be others than at that time,
// as the model may have been compiled in between.
func (r *recoverer) rewrite() error {
	m := r.t.m
	own, vars, err := m.stateVariables()
	if err != nil {
		return err
	}
	if !slices.EqualFunc(own, r.got.Variables, stateVariable.equal) {
		return fmt.Errorf("the other workers trained %d weights and optimizer variables in a later Fit, this worker has %d or others; run the same program on all", len(r.got.Variables), len(own))
	}
	m.steps = r.got.Steps
	return m.writeAll(vars, r.values)
}
