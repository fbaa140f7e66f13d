package collective

import "time"

// watchdog sees when nothing comes for this worker in a collective, whatever it waits for there, and says so to the
// membership. The others' signs of life then tell whether it waits in vain; see [membership.Machine.Block]. A member
// that takes its time over something else is waited for.
type watchdog struct {
	session *session
	moves   uint64        // of the session, when something came last
	bytes   int64         // of the transport then
	since   time.Duration // when that was
	looked  time.Duration // when it was looked at last
	told    time.Duration // when Options.Unheard was told last
}

// Bytes that signs of life take, at most, while nothing else comes: for each worker, and for all.
const (
	lifeOfWorker = 16 << 10
	lifeOfAll    = 64 << 10
)

// look is called regularly. g.mu is held.
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
