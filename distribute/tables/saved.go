package tables

import (
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// saved is what files contain about a table besides its rows.
type saved struct {
	Width   int             `json:"width"`
	Text    bool            `json:"text"`
	Init    parameters.Init `json:"init"`
	Rule    parameters.Rule `json:"rule"`
	Version uint64          `json:"version"`
	Step    uint64          `json:"step"`
	Rates   [][2]float64    `json:"rates,omitempty"`
}

// Describe returns what a file stores about the table besides its rows: how rows are initialized, how they are updated,
// and how often they were updated.
func (t *Table) Describe() ([]byte, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return json.Marshal(saved{t.spec.Width, t.spec.Text, t.spec.Init, t.spec.Rule, t.t.Version, t.t.Step, t.t.Rates().Pairs()})
}

// Restore restores the table from the result of Describe, without rows. To restore the rows, call [Table.Put] with the
// returned state.
func (t *Table) Restore(description []byte) (parameters.TableState, error) {
	var s saved
	if err := json.Unmarshal(description, &s); err != nil {
		return parameters.TableState{}, fmt.Errorf("tables: what the file says of a table: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Width != t.spec.Width || s.Text != t.spec.Text {
		return parameters.TableState{}, fmt.Errorf("tables: the file has rows of %d numbers with text keys %v, table %s has %d and %v", s.Width, s.Text, t.spec.Name, t.spec.Width, t.spec.Text)
	}
	spec := t.spec
	spec.Init, spec.Rule = s.Init, s.Rule
	return parameters.TableState{Version: s.Version, Step: s.Step, Rates: protocol.RatesOf(s.Rates)}, t.replace(spec, nil)
}
