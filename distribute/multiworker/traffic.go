package multiworker

import "github.com/gokeras/gokeras/distribute/monitor"

var _ monitor.Source = (*group)(nil)

// Traffic implements [monitor.Source].
func (w *group) Traffic() monitor.Traffic {
	s, v := w.g.Stats(), w.g.View()
	return monitor.Traffic{Generation: v.Generation, Size: len(v.Members), Sent: s.Sent, Received: s.Received, Time: s.Time, Waiting: s.Waiting, Lost: s.Lost, Groups: s.Groups}
}
