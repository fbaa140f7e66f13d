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

// grace is how old a folder must be before it can be taken for abandoned: a store that another process is just opening
// has a folder already, and no lock yet.
var grace = time.Minute

// owned are the stores that this process has open. The lock of a folder belongs to a process as a whole and says
// nothing about them.
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

// removeAbandoned removes the folders of stores below a directory whose processes have ended without closing them:
// nobody else would, and a server that is killed again and again would fill its disk. What cannot be read or removed is
// left alone, since it is in nobody's way now.
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

// isOwned reports whether a folder is that of an open store of this process, by whatever path.
func isOwned(folder os.FileInfo) bool {
	return slices.ContainsFunc(owned.stores, func(r *rows) bool {
		info, err := os.Stat(r.folder)
		return err == nil && os.SameFile(info, folder)
	})
}
