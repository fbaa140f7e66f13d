// Package lastwords is what a worker tells the others when a function of the user's panics in it: its process is about
// to end, so it is lost, as if it were killed. Without a word the others would not learn why, and where the strategy is
// closed on the way out, it would seem to have left in good order.
package lastwords

import (
	"fmt"
	"strings"
)

// Words are an error by which a worker withdraws from its group.
type Words struct{ text string }

// Of makes them of what recover has returned in a function that is deferred, nil where runtime.Goexit was called.
func Of(where string, recovered any) *Words {
	if recovered == nil {
		return &Words{where + ": runtime.Goexit has ended its goroutine"}
	}
	text, _, _ := strings.Cut(fmt.Sprint(recovered), "\n") // without the stack of another goroutine
	return &Words{where + ": panic: " + text}
}

// Error is one line of text.
func (w *Words) Error() string { return w.text }

// Withdraws tells the group that its worker is lost.
func (w *Words) Withdraws() bool { return true }
