package keras

import (
	"fmt"
	"os"
	"sync"

	"github.com/gokeras/gokeras/distribute"
)

// wholeTables are tables that have lookups, but are transferred as a whole in every step nevertheless.
type wholeTables struct {
	mu    sync.Mutex
	known map[*distribute.Variable]bool
}

// largeTable is the size in bytes from which on users are told.
const largeTable = 1 << 20

// note prints the reason and the remedy, once for each table.
func (t *wholeTables) note(run *trainer, v *distribute.Variable) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.Type().Bytes() < largeTable || t.known[v] {
		return
	}
	if t.known == nil {
		t.known = map[*distribute.Variable]bool{}
	}
	t.known[v] = true
	m, out := run.m, run.c.output
	if out == nil {
		out = os.Stdout
	}
	why := "it is regularized, or its rows decide what else is looked up, or that happens within a loop or branch"
	if m.compiled.trainStep != nil {
		why = "TrainStep reads it, or does more with its gradient than scale and clip it; call Minimize. Otherwise " + why
	}
	_, _ = fmt.Fprintf(out, "Every step transfers the table %s, of %.1f MB, to the worker and its gradient to the parameter servers as a whole: %s.\n", v.Path(), float64(v.Type().Bytes())/1e6, why)
}
