package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strconv"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// The epochs of a call of Fit are recorded in notes on the servers, for workers and for later coordinators.

// outcome is what the coordinator notes at the end of a call.
type outcome struct{ Error string }

// epochRecord is the logs of one epoch.
type epochRecord struct {
	Epoch  int
	Names  []string
	Values [][]float64
}

// recorder keeps the logs of epochs, so that workers and later coordinators can return them too.
type recorder struct {
	callbacks.Base
	rows  []epochRecord
	from  int // first row of the last note
	notes int // number of full notes
	note  func() error
}

// OnEpochEnd keeps the logs of the epoch.
func (r *recorder) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	row := epochRecord{Epoch: epoch, Names: logs.Names()}
	for _, name := range row.Names {
		row.Values = append(row.Values, logs.Vector(name))
	}
	r.rows = append(r.rows, row)
	if err := logs.Err(); err != nil || r.note == nil {
		return err
	}
	return r.note()
}

// history returns the recorded rows as a History.
func (r *recorder) history() (*History, error) {
	h := &History{}
	err := h.OnTrainBegin()
	for _, row := range r.rows {
		logs := callbacks.NewLogs(nil)
		for i, name := range row.Names {
			logs.Set(name, row.Values[i]...)
		}
		err = errors.Join(err, h.OnEpochEnd(row.Epoch, logs))
	}
	return h, err
}

// fullNote is the length in bytes at which a note about epochs is full and the next epochs go into a new one. So an
// epoch costs the same even after thousands of them.
const fullNote = 64 << 10

// historyNote returns the name of a note about epochs.
func (f *serverFit) historyNote(number int) string { return f.name("history/" + strconv.Itoa(number)) }

// noteHistory stores the logs of epochs on the servers. set is the job's SetNote, or a function like it.
func (f *serverFit) noteHistory(set func(key string, value []byte) error) error {
	r := &f.record
	for r.from < len(r.rows) {
		to := len(r.rows)
		text, err := encoded(r.rows[r.from:to])
		for err == nil && len(text) > 2*fullNote && to-r.from > 1 { // several epochs at once
			to = r.from + (to-r.from)/2
			text, err = encoded(r.rows[r.from:to])
		}
		if err == nil {
			err = set(f.historyNote(r.notes), text)
		}
		if err != nil {
			return fmt.Errorf("keras: Fit: the history: %w", err)
		}
		if to == len(r.rows) && len(text) < fullNote {
			break
		}
		r.from, r.notes = to, r.notes+1
	}
	return nil
}

// readHistory reads what an earlier coordinator noted about epochs, or on a worker what this one noted.
func (f *serverFit) readHistory(ctx context.Context) error {
	f.record.rows, f.record.from, f.record.notes = nil, 0, 0
	for number := 0; ; number++ {
		text, err := f.job.Note(ctx, f.historyNote(number))
		if err != nil || text == nil {
			return err
		}
		var rows []epochRecord
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&rows); err != nil {
			return fmt.Errorf("keras: Fit: what the coordinator noted about epochs: %w", err)
		}
		f.record.from, f.record.notes = len(f.record.rows), number
		f.record.rows = append(f.record.rows, rows...)
	}
}

// tell notes how the call ended, for workers that wait for the end and for later coordinators. If ctx has ended, the
// servers may have been told to end as well.
func (f *serverFit) tell(ctx context.Context, failed error) error {
	var o outcome
	if failed != nil {
		o.Error = failed.Error()
	}
	set := func(key string, value []byte) error { return parameters.SetLastNote(ctx, f.job, key, value) }
	if err := f.noteHistory(set); err != nil {
		return err
	}
	text, err := encoded(o)
	if err != nil {
		return prefixed("Fit", err)
	}
	return set(f.name("end"), text)
}

// ended asks whether the call is over.
func (f *serverFit) ended(ctx context.Context) (*History, bool, error) {
	text, err := f.job.Note(ctx, f.name("end"))
	if err != nil || text == nil {
		return nil, false, err
	}
	var o outcome
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&o); err != nil {
		return nil, false, fmt.Errorf("keras: Fit: the coordinator's note: %w", err)
	}
	if err := f.readHistory(ctx); err != nil {
		return nil, false, err
	}
	h, err := f.record.history()
	if err == nil && o.Error != "" {
		err = fmt.Errorf("keras: Fit: on the coordinator: %s", o.Error)
	}
	return h, true, err
}
