package partitioners

// Placement chooses the parameter server of each shard, in the order in which shards are made. It is used by one
// goroutine at a time.
type Placement interface {
	// Place returns the number of the server, from 0 to servers-1, for a shard of the given size in bytes.
	Place(bytes, servers int) int
}

// RoundRobin assigns shards to the servers in turn: TensorFlow's rule and the default.
type RoundRobin struct{ next int }

// Place implements [Placement].
func (p *RoundRobin) Place(_, servers int) int {
	at := p.next % servers
	p.next = at + 1
	return at
}

// BySize assigns each shard to the server with the fewest bytes so far, the first one in a tie.
type BySize struct{ loads []int }

// Place implements [Placement].
func (p *BySize) Place(bytes, servers int) int {
	for len(p.loads) < servers {
		p.loads = append(p.loads, 0)
	}
	least := 0
	for i, load := range p.loads[:servers] {
		if load < p.loads[least] {
			least = i
		}
	}
	p.loads[least] += bytes
	return least
}
