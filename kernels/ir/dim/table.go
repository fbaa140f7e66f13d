package dim

import (
	"hash/fnv"
	"sync"
)

type kind uint8

const (
	symbol   kind = iota // a named size
	quotient             // floor(args[0] / args[1])
	largest              // the largest of args
	sum                  // a polynomial over the other kinds
)

// expr is an expression in normal form. It is never changed.
type expr struct {
	kind  kind
	name  string     // of a symbol
	args  []int      // of a quotient or a maximum
	terms polynomial // of a sum
	text  string
}

// table holds the expressions of the process by their handles. Handles are hashes of the text, so they do not depend on
// the order in which expressions are made.
var table = struct {
	sync.RWMutex
	exprs map[int]*expr
}{exprs: map[int]*expr{}}

// find returns the expression of a handle, or nil.
func find(d int) *expr {
	if d > -base {
		return nil
	}
	table.RLock()
	defer table.RUnlock()
	return table.exprs[d]
}

func full() bool {
	table.RLock()
	defer table.RUnlock()
	return len(table.exprs) >= Limit
}

// intern returns the handle of an expression.
func intern(e *expr) int {
	e.text = e.format()
	h := fnv.New64a()
	h.Write([]byte{byte(e.kind)})
	h.Write([]byte(e.text))
	d := -(base | int(spread(h.Sum64())&(base-1)))
	table.RLock()
	known := table.exprs[d]
	table.RUnlock()
	if known != nil && known.kind == e.kind && known.text == e.text {
		return d
	}
	table.Lock()
	defer table.Unlock()
	for ; ; d = -(base | (1-d)&(base-1)) { // skips another expression with the same hash
		switch known := table.exprs[d]; {
		case known == nil && len(table.exprs) >= Limit:
			return invalid
		case known == nil:
			table.exprs[d] = e
			return d
		case known.kind == e.kind && known.text == e.text:
			return d
		}
	}
}

// spread mixes the bits of a hash, so that handles lie far apart.
func spread(x uint64) uint64 {
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}
