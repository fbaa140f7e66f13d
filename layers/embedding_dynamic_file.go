package layers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TableKeeper is implemented by layers whose weights file holds a table besides variables: a dynamic [Embedding].
type TableKeeper interface {
	// TableNames are the paths of the datasets below the layer's group; none for a layer without a table.
	TableNames() []string
	// TableArrays are their contents.
	TableArrays() (map[string]kernels.Array, error)
	// LoadTable replaces the table by the contents of a file: integers as []int64, others as []float32.
	LoadTable(numbers map[string][]int64, floats map[string][]float32) error
}

// The datasets of a dynamic embedding of n rows: what Describe says, keys (n), counters (n, 3: updates, version and
// step of the last one), values (n, OutputDim), the optimizer's state (n, slots·OutputDim), and for text keys the texts
// one after another, with their lengths (n).
const (
	fileTable    = "rows/table"
	fileKeys     = "rows/keys"
	fileCounters = "rows/counters"
	fileValues   = "rows/values"
	fileSlots    = "rows/slots"
	fileLengths  = "rows/lengths"
	fileTexts    = "rows/texts"
)

// TableNames implements [TableKeeper].
func (l *Embedding) TableNames() []string {
	if !l.Dynamic {
		return nil
	}
	return []string{fileTable, fileKeys, fileCounters, fileValues, fileSlots, fileLengths, fileTexts}
}

// TableArrays implements [TableKeeper].
func (l *Embedding) TableArrays() (map[string]kernels.Array, error) {
	table := l.Table()
	if !l.Dynamic || table == nil {
		return nil, nil
	}
	description, err := table.Describe()
	if err != nil {
		return nil, err
	}
	rows, err := table.Rows()
	if err != nil {
		return nil, err
	}
	out := map[string]kernels.Array{fileTable: {Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{len(description)}}, Data: description}}
	if len(rows) == 0 {
		return out, nil
	}
	n, slots := len(rows), len(rows[0].Slots)
	var keys, counters, values, state, lengths, texts []byte
	floats := func(to []byte, from []float32) []byte {
		for _, v := range from {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
		}
		return to
	}
	for i := range rows {
		r := &rows[i]
		keys = binary.LittleEndian.AppendUint64(keys, uint64(r.Key))
		for _, c := range [3]uint64{uint64(r.Count), r.Last, r.Step} {
			counters = binary.LittleEndian.AppendUint64(counters, c)
		}
		values, state = floats(values, r.Values), floats(state, r.Slots)
		lengths, texts = binary.LittleEndian.AppendUint64(lengths, uint64(len(r.Name))), append(texts, r.Name...)
	}
	add := func(name string, t ir.DType, data []byte, shape ...int) {
		out[name] = kernels.Array{Type: ir.Type{DType: t, Shape: shape}, Data: data}
	}
	add(fileKeys, ir.Int64, keys, n)
	add(fileCounters, ir.Int64, counters, n, 3)
	add(fileValues, ir.Float32, values, n, l.OutputDim)
	if slots > 0 {
		add(fileSlots, ir.Float32, state, n, slots)
	}
	if l.dynamic.text {
		add(fileLengths, ir.Int64, lengths, n)
		if len(texts) > 0 {
			add(fileTexts, ir.Uint8, texts, len(texts))
		}
	}
	return out, nil
}

// LoadTable implements [TableKeeper]. All rows are replaced.
func (l *Embedding) LoadTable(numbers map[string][]int64, floats map[string][]float32) error {
	if !l.Dynamic || numbers[fileTable] == nil {
		return nil
	}
	l.dynamic.mu.Lock()
	defer l.dynamic.mu.Unlock()
	if l.dynamic.table == nil { // of a model that is not built yet
		l.dynamic.stored = func() error { return l.fill(numbers, floats) }
		return nil
	}
	return l.fill(numbers, floats)
}

var errDamaged = errors.New("the rows in the file do not fit each other; it is damaged")

// fill replaces all rows by those of a file. The caller holds the lock.
func (l *Embedding) fill(numbers map[string][]int64, floats map[string][]float32) error {
	keys, counters, values, state := numbers[fileKeys], numbers[fileCounters], floats[fileValues], floats[fileSlots]
	n, slots := len(keys), 0
	if n > 0 {
		slots = len(state) / n
	}
	if len(counters) != 3*n || len(values) != n*l.OutputDim || len(state) != n*slots || l.dynamic.text && len(numbers[fileLengths]) != n {
		return errDamaged
	}
	names, err := textsOf(numbers[fileLengths], numbers[fileTexts])
	if err != nil {
		return err
	}
	table := l.dynamic.table
	of, err := table.Restore(bytesOfNumbers(numbers[fileTable]))
	if err != nil {
		return err
	}
	const some = 1 << 12
	rows := make([]parameters.Row, 0, some)
	for i, key := range keys {
		r := parameters.Row{Key: key, Count: uint32(counters[3*i]), Last: uint64(counters[3*i+1]), Step: uint64(counters[3*i+2]), Values: values[i*l.OutputDim : (i+1)*l.OutputDim], Slots: state[i*slots : (i+1)*slots]}
		if l.dynamic.text {
			r.Name = names[i]
		}
		if rows = append(rows, r); len(rows) == some {
			if err := table.Put(of, rows); err != nil {
				return fmt.Errorf("%w: %w", errDamaged, err)
			}
			rows = rows[:0]
		}
	}
	if err := table.Put(of, rows); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

func bytesOfNumbers(numbers []int64) []byte {
	out := make([]byte, len(numbers))
	for i, v := range numbers {
		out[i] = byte(v)
	}
	return out
}

func textsOf(lengths, texts []int64) ([]string, error) {
	all := bytesOfNumbers(texts)
	out := make([]string, len(lengths))
	for i, n := range lengths {
		if n < 0 || n > int64(len(all)) {
			return nil, errDamaged
		}
		out[i], all = string(all[:n]), all[n:]
	}
	return out, nil
}
