package keras

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/lastwords"
)

// tellPanic is deferred around what calls functions of the user's, and tells the other workers where one of them has
// panicked; done is set where all have returned. The panic goes on.
func (m *Model) tellPanic(what string, done *bool) {
	if *done || distribute.WorkersOf(m.strategy) == nil {
		return
	}
	v := recover()
	m.failTogether(lastwords.Of("keras: "+what, v))
	if v != nil {
		panic(v)
	}
}
