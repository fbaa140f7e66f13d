package disk

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// prefix begins the names of the folders of stores.
const prefix = "gokeras-rows-"

// grace is the age from which a folder can be considered abandoned: a store that another process is just opening
// already has a folder, but no lock yet.
var grace = time.Minute

// owned are the open stores of this process. File locks do not protect them, because a lock belongs to the process as a
// whole.
var owned struct {
	sync.Mutex
	stores []*rows
}

func own(r *rows) *rows {
	owned.Lock()
	defer owned.Unlock()
	owned.stores = append(owned.stores, r)
	return r
}

func disown(r *rows) {
	owned.Lock()
	defer owned.Unlock()
	owned.stores = slices.DeleteFunc(owned.stores, func(o *rows) bool { return o == r })
}

// removeAbandoned removes the folders of stores below a directory whose processes have ended without closing them.
// Otherwise a server that is killed again and again would fill its disk. It skips folders that cannot be read or
// removed, since they do no harm now.
func removeAbandoned(directory string) {
	if directory == "" {
		directory = os.TempDir()
	}
	folders, _ := filepath.Glob(filepath.Join(directory, prefix+"*"))
	owned.Lock()
	defer owned.Unlock()
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < grace || isOwned(info) {
			continue
		}
		if lock, err := pebble.LockDirectory(folder, vfs.Default); err == nil {
			_ = os.RemoveAll(folder)
			_ = lock.Close()
		}
	}
}

// isOwned reports whether a folder belongs to an open store of this process, whatever its path.
func isOwned(folder os.FileInfo) bool {
	return slices.ContainsFunc(owned.stores, func(r *rows) bool {
		info, err := os.Stat(r.folder)
		return err == nil && os.SameFile(info, folder)
	})
}
