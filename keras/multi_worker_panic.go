package keras

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/lastwords"
)

// tellPanic is deferred around calls of user functions. If one panics, it tells the other workers where; done is set
// when all have returned. The panic continues.
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
