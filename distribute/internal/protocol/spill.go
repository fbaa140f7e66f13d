package protocol

import (
	"errors"
	"sync"
)

// Spill holds the rows of a dynamic table that are not in memory. It extends memory and is not durable: a server that
// starts rebuilds all rows from its snapshot and log, so the content of a spill is lost when it is closed.
type Spill interface {
	// Get returns the record of a key, nil if there is none. Several goroutines may call it at once, but not during
	// Write.
	Get(key int64) ([]byte, error)
	// Write stores records, and removes those of the keys in remove, which need not exist.
	Write(keys []int64, records [][]byte, remove []int64) error
	// Each calls f for every record, until it returns false; record is valid during the call.
	Each(f func(key int64, record []byte) bool) error
	// Memory and Disk return how many bytes the spill takes.
	Memory() int64
	Disk() int64
	Close() error
}

// SpillOpener creates an empty spill in a new folder below directory ("" is the folder of temporary files) that uses
// about memory bytes of memory.
type SpillOpener func(directory string, memory int) (Spill, error)

var spills struct {
	sync.Mutex
	open SpillOpener
}

// RegisterSpill sets the function that opens spills, for tables that do not fit in memory.
func RegisterSpill(open SpillOpener) {
	spills.Lock()
	defer spills.Unlock()
	spills.open = open
}

// ErrNoSpill is the error of a table that should use the disk in a program without a store for it.
var ErrNoSpill = errors.New(`rows on disk need a store that this program was built without; import _ "github.com/gokeras/gokeras/distribute/tables/disk"`)

func openSpill(directory, _ string, memory int) (Spill, error) {
	spills.Lock()
	open := spills.open
	spills.Unlock()
	if open == nil {
		return nil, ErrNoSpill
	}
	return open(directory, memory)
}

// CanSpill reports whether rows can be moved to disk.
func CanSpill() bool {
	spills.Lock()
	defer spills.Unlock()
	return spills.open != nil
}
