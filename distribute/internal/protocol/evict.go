package protocol

import (
	"cmp"
	"container/heap"
	"fmt"
)

// Policy says which rows of a dynamic table go first when there are more than MaxRows.
type Policy uint8

// The policies. Rows that are older than MaxAge are evicted before all others.
const (
	LeastFrequent Policy = iota // those updated least; of equals those updated longest ago
	LeastRecent                 // those updated longest ago; of equals those updated least
	policies
)

var policyNames = [policies]string{"least_frequent", "least_recent"}

// String is the policy's name: "least_frequent", "least_recent".
func (p Policy) String() string {
	if p < policies {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", p)
}

// ParsePolicy reads the name of a policy; "" means the first.
func ParsePolicy(name string) (Policy, error) {
	for i, n := range policyNames {
		if n == name || name == "" {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("the policy %q is not known; expected %q or %q", name, policyNames[0], policyNames[1])
}

// candidate is a row that may be evicted.
type candidate struct {
	key   int64
	last  uint64
	count uint32
}

// before orders rows by which is evicted first.
func (p Policy) before(a, b candidate) int {
	frequency, age := cmp.Compare(a.count, b.count), cmp.Compare(a.last, b.last)
	if p == LeastRecent {
		frequency, age = age, frequency
	}
	return cmp.Or(frequency, age, cmp.Compare(a.key, b.key))
}

// candidates is a heap whose top is the row that is evicted last.
type candidates struct {
	policy Policy
	list   []candidate
}

func (c *candidates) Len() int           { return len(c.list) }
func (c *candidates) Less(i, j int) bool { return c.policy.before(c.list[i], c.list[j]) > 0 }
func (c *candidates) Swap(i, j int)      { c.list[i], c.list[j] = c.list[j], c.list[i] }
func (c *candidates) Push(x any)         { c.list = append(c.list, x.(candidate)) }
func (c *candidates) Pop() any {
	x := c.list[len(c.list)-1]
	c.list = c.list[:len(c.list)-1]
	return x
}

// evict makes room. Rows of the last update stay. Evicted rows are kept for [graceUpdates] updates, so that no gradient
// that was being computed is lost. The choice depends on updates alone, not on reads or on which rows are in memory, so
// replaying a log evicts the same rows.
func (s *rowStore) evict() {
	s.bury()
	t := s.t
	over := t.MaxRows > 0 && s.len() > t.MaxRows
	if !over && (t.MaxAge == 0 || t.Version%max(t.MaxAge/8, 1) != 0) {
		return
	}
	c := candidates{policy: t.Policy}
	n := 0
	if over { // a tenth goes at a time: finding out which costs a look at all
		n = s.len() - t.MaxRows + t.MaxRows/10
	}
	var old []int64
	err := s.each(func(row Row) bool {
		one := candidate{row.Key, row.Last, row.Count}
		if _, went := s.gone[one.key]; went || one.last >= t.Version {
			return true
		}
		if t.MaxAge > 0 && t.Version-one.last > t.MaxAge {
			old = append(old, one.key)
			return true
		}
		if n == 0 {
			return true
		}
		if len(c.list) < n {
			heap.Push(&c, one)
		} else if t.Policy.before(one, c.list[0]) < 0 {
			c.list[0] = one
			heap.Fix(&c, 0)
		}
		return true
	})
	if err != nil {
		s.fail(err)
		return
	}
	for _, key := range old {
		s.depart(key)
	}
	for keep := max(n-len(old), 0); len(c.list) > keep; {
		heap.Pop(&c)
	}
	for _, one := range c.list {
		s.depart(one.key)
	}
}

func (s *rowStore) depart(key int64) {
	s.gone[key] = s.t.Version
	s.leaving = append(s.leaving, departure{key, s.t.Version})
	s.evictions++
}

// bury drops rows that were evicted long ago.
func (s *rowStore) bury() {
	n := 0
	var stored []int64
	for _, d := range s.leaving {
		if s.t.Version-d.version < graceUpdates {
			break
		}
		n++
		if at, went := s.gone[d.key]; !went || at != d.version {
			continue // it came back
		}
		delete(s.gone, d.key)
		s.total--
		if r, here := s.index[d.key]; here {
			s.drop(r)
		}
		if s.spill != nil {
			stored = append(stored, d.key)
		}
	}
	if n == 0 {
		return
	}
	s.leaving = append(s.leaving[:0], s.leaving[n:]...)
	if len(stored) > 0 {
		if err := s.spill.Write(nil, nil, stored); err != nil {
			s.fail(err)
		}
	}
}
