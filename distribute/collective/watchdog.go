package collective

import "time"

// watchdog notices when this worker receives nothing in a collective, whatever it waits for, and tells the membership.
// The others' heartbeats then show whether it waits in vain; see [membership.Machine.Block]. It keeps waiting for a
// member that is merely busy with something else.
type watchdog struct {
	session *session
	moves   uint64        // of the session, when something came last
	bytes   int64         // of the transport then
	since   time.Duration // when that was
	looked  time.Duration // when it was looked at last
	told    time.Duration // when Options.Unheard was told last
}

// The largest number of bytes that heartbeats take while nothing else arrives: for each worker, and for all.
const (
	lifeOfWorker = 16 << 10
	lifeOfAll    = 64 << 10
)

// look is called regularly. The caller holds g.mu.
func (w *watchdog) look(g *Group) {
	now, s := g.now(), g.session
	stopped := now-w.looked > g.settings.Deadline/2 // this process was: what came meanwhile lies unread
	w.looked = now
	if tell := g.settings.Unheard; tell != nil && !stopped && now-w.told >= g.settings.Heartbeat {
		w.told = now
		if tasks := g.machine.Unheard(); len(tasks) > 0 {
			tell(g.tasks(tasks))
		}
	}
	if s == nil || s.ended() || s.n == 1 {
		w.session = nil
		return
	}
	sequence, moves := s.active.Load(), s.moves.Load()
	bytes := g.transport.received.Load() + g.transport.sent.Load()
	quiet := int64(lifeOfAll + lifeOfWorker*len(g.settings.members)) // a message may be large and the network slow
	if stopped || s != w.session || sequence == 0 || moves != w.moves || bytes-w.bytes > quiet {
		w.session, w.moves, w.bytes, w.since = s, moves, bytes, now
		g.machine.Unblock()
		return
	}
	if now-w.since >= g.settings.Deadline*4/5 { // the rest of the deadline goes to hearing from the others
		g.machine.Block(now, sequence)
	}
}
