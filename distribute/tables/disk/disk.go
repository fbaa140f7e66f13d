// Package disk lets dynamic tables be larger than memory: rows that have not been used for a while are moved to an
// embedded store (github.com/cockroachdb/pebble) on disk. Programs import it for its side effect,
//
//	import _ "github.com/gokeras/gokeras/distribute/tables/disk"
//
// and set MemoryBytes of a [layers.Embedding], or TableMemory of a parameter server. It is a separate package because
// the store makes a program several megabytes larger.
//
// The store extends memory and does not outlive the process: tables are restored from model files, and from snapshots
// and logs of parameter servers. Files that a killed process has left are removed when the next store is opened in the
// same directory.
//
// [layers.Embedding]: https://pkg.go.dev/github.com/gokeras/gokeras/layers#Embedding
package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/gokeras/gokeras/distribute/tables"
)

func init() { tables.RegisterSpill(open) }

// rows is a store of rows in a folder of its own.
type rows struct {
	db     *pebble.DB
	folder string
	close  sync.Once
	closed error
}

// least is the smallest memory in bytes with which the store works well.
const least = 2 << 20

func open(directory string, memory int) (tables.Spill, error) {
	if directory != "" {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return nil, fmt.Errorf("tables: rows on disk: %w", err)
		}
	}
	removeAbandoned(directory)
	folder, err := os.MkdirTemp(directory, prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("tables: rows on disk: %w", err)
	}
	memory = max(memory, least)
	cache := pebble.NewCache(int64(memory / 2))
	defer cache.Unref()
	o := &pebble.Options{
		Cache:                       cache,
		MemTableSize:                uint64(memory / 4),
		MemTableStopWritesThreshold: 2,
		DisableWAL:                  true, // the rows are lost with the process anyway
		MaxOpenFiles:                256,
		Logger:                      silent{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most keys that are asked for and are not in memory are new
		o.Levels[i].FilterType = pebble.TableFilter
	}
	db, err := pebble.Open(folder, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tables: rows on disk: %w", err), os.RemoveAll(folder))
	}
	return own(&rows{db: db, folder: folder}), nil
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {} // the calls return their errors
func (silent) Fatalf(format string, a ...any) {
	panic(fmt.Sprintf("tables: rows on disk: "+format, a...))
}

func keyOf(key int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(key)^1<<63)
}

// Get implements [tables.Spill].
func (r *rows) Get(key int64) ([]byte, error) {
	b, done, err := r.db.Get(keyOf(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, b...), done.Close()
}

// Write implements [tables.Spill].
func (r *rows) Write(keys []int64, records [][]byte, remove []int64) error {
	b := r.db.NewBatch()
	for i, key := range keys {
		if err := b.Set(keyOf(key), records[i], nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	for _, key := range remove {
		if err := b.Delete(keyOf(key), nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return errors.Join(b.Commit(pebble.NoSync), b.Close())
}

// Each implements [tables.Spill].
func (r *rows) Each(f func(key int64, record []byte) bool) error {
	it, err := r.db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if !f(int64(binary.BigEndian.Uint64(it.Key())^1<<63), it.Value()) {
			break
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// Memory implements [tables.Spill].
func (r *rows) Memory() int64 {
	m := r.db.Metrics()
	return m.BlockCache.Size + int64(m.MemTable.Size)
}

// Disk implements [tables.Spill].
func (r *rows) Disk() int64 { return int64(r.db.Metrics().DiskSpaceUsage()) }

// Close implements [tables.Spill].
func (r *rows) Close() error {
	r.close.Do(func() { r.closed = errors.Join(r.db.Close(), os.RemoveAll(r.folder)); disown(r) })
	return r.closed
}
