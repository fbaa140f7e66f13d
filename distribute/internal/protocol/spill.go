package protocol

import (
	"errors"
	"sync"
)

// Spill holds the rows of a dynamic table that are not in memory. It is a part of the memory, not of what is kept: a
// server that starts rebuilds all rows from its snapshot and log, so what a spill holds is lost when it is closed.
type Spill interface {
	// Get returns the record of a key, nil where there is none. It may be called by several goroutines, while nobody
	// calls Write.
	Get(key int64) ([]byte, error)
	// Write puts records and removes those of other keys, which need not be there.
	Write(keys []int64, records [][]byte, remove []int64) error
	// Each calls f for every record, until it returns false; record is valid during the call.
	Each(f func(key int64, record []byte) bool) error
	// Memory and Disk are how many bytes it takes.
	Memory() int64
	Disk() int64
	Close() error
}

// SpillOpener makes an empty spill in a folder of its own below directory, "" for that of temporary files, with about
// as much memory.
type SpillOpener func(directory string, memory int) (Spill, error)

var spills struct {
	sync.Mutex
	open SpillOpener
}

// RegisterSpill names what tables that do not fit memory are held by.
func RegisterSpill(open SpillOpener) {
	spills.Lock()
	defer spills.Unlock()
	spills.open = open
}

// ErrNoSpill is what a table gives that is to use the disk in a program without a store for it.
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

// CanSpill reports whether rows can be put on disk.
func CanSpill() bool {
	spills.Lock()
	defer spills.Unlock()
	return spills.open != nil
}
