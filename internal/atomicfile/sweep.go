package atomicfile

import (
	"os"
	"path/filepath"
	"regexp"
)

// temporaryName matches files that Write has not finished: its own name, eight digits, and an ending.
var temporaryName = regexp.MustCompile(`^.+\.[0-9a-f]{8}\.tmp$`)

// Sweep removes from a folder the files that killed writers have left. Files that are being written stay: a writer
// holds a lock on its file, which ends with its process.
func Sweep(folder string) { sweep(folder, func(string) bool { return true }) }

// sweepFor removes what killed writers of one file have left behind.
func sweepFor(path string) {
	base := filepath.Base(path)
	sweep(filepath.Dir(path), func(name string) bool { return len(name) == len(base)+len(".00000000.tmp") && name[:len(base)] == base })
}

func sweep(folder string, wanted func(name string) bool) {
	d, err := os.Open(folder)
	if err != nil {
		return // there is nothing to sweep
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if temporaryName.MatchString(name) && wanted(name) {
				removeAbandoned(filepath.Join(folder, name))
			}
		}
		if err != nil { // the end, most times
			return
		}
	}
}
