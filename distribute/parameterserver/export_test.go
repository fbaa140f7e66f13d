package parameterserver

import "github.com/gokeras/gokeras/distribute/internal/protocol"

// NoSharing lets messages go over the network between processes of one host too.
func NoSharing(o *Options) { o.noSharing = true }

// Doubled reports whether each group has two complete copies that know the same view.
func Doubled(servers []*Server) bool {
	found := make([]map[protocol.View]int, len(servers))
	for i := range found {
		found[i] = map[protocol.View]int{}
	}
	for _, s := range servers {
		for group, one := range s.copies {
			one.mu.RLock()
			if m := one.copied.machine; m.Complete() && (m.Serves(m.View()) != nil || !m.Lags()) && s.life.Err() == nil {
				found[group][m.View()]++
			}
			one.mu.RUnlock()
		}
	}
	for _, views := range found {
		two := false
		for v, n := range views {
			two = two || n == 2 && v.Backup != protocol.Nobody
		}
		if !two {
			return false
		}
	}
	return true
}
