package hdf5

import "sync"

// meter watches the blocks that make up one structure of the file. In a sound file they are all different and do not
// overlap, so together they are no larger than the file; a tree with a cycle, or with overlapping blocks that are meant
// to keep a reader busy, violates that.
type meter struct {
	what string
	size uint64 // what there may be: the file's size, less what other structures have
	seen uint64 // bytes so far
	at   map[uint64]struct{}
}

func (f *File) newMeter(what string) *meter {
	return &meter{what: what, size: f.size, at: map[uint64]struct{}{}}
}

// block counts a block.
func (m *meter) block(address, n uint64) error {
	if _, twice := m.at[address]; twice {
		return corrupt("%s: the block at %#x is visited twice (a cycle)", m.what, address)
	}
	m.at[address] = struct{}{}
	return m.add(n)
}

// add counts bytes.
func (m *meter) add(n uint64) error {
	if n > m.size || m.seen > m.size-n {
		return corrupt("%s: its parts, and those of what was read before, add up to more than the file has, so they overlap", m.what)
	}
	m.seen += n
	return nil
}

// ledger adds up the structures that stay in memory with the objects they describe: headers, members of groups, dense
// attributes. Each is counted once, however many paths lead to it. Together they too are no larger than the file.
type ledger struct {
	mutex sync.Mutex
	total uint64
	seen  map[entryOfLedger]struct{}
}

// entryOfLedger is a structure, by the address of the object's header and what it is of the object.
type entryOfLedger struct {
	address uint64
	what    string
}

// open gives the meter for a structure that is about to be read.
func (l *ledger) open(f *File, address uint64, what string) *meter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	m := f.newMeter(what)
	if _, again := l.seen[entryOfLedger{address, what}]; !again {
		m.size -= l.total
	}
	return m
}

// close enters a structure that was read.
func (l *ledger) close(f *File, address uint64, m *meter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.seen == nil {
		l.seen = map[entryOfLedger]struct{}{}
	}
	key := entryOfLedger{address, m.what}
	if _, again := l.seen[key]; !again {
		l.seen[key] = struct{}{}
		l.total = min(f.size, l.total+m.seen)
	}
}
