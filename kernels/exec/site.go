package exec

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

const module = "github.com/gokeras/gokeras/"

// programs are the folders of the module whose code counts as the user's.
var programs = []string{"examples/", "cmd/"}

// CallSite returns file and line of the user's code that is calling: the innermost frame outside the library, or the
// outermost library frame if there is none.
func CallSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	site := ""
	for {
		f, more := frames.Next()
		if f.File != "" && !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "testing.") {
			site = fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File), f.Line)
			if !isLibrary(f.Function, f.File) {
				return site
			}
		}
		if !more {
			return site
		}
	}
}

func isLibrary(function, file string) bool {
	rest, ours := strings.CutPrefix(function, module)
	if !ours || strings.HasSuffix(file, "_test.go") {
		return false
	}
	for _, p := range programs {
		if strings.HasPrefix(rest, p) {
			return false
		}
	}
	return true
}
