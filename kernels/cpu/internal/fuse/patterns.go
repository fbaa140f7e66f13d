package fuse

import "github.com/gokeras/gokeras/kernels/ir"

// patterns are functions that look for nodes, starting from a given one, that one kernel computes together, and make a
// unit of them. They are tried in order, for each node in the order of the program, before other nodes are grouped. A
// pattern ignores nodes that an earlier one has taken.
var patterns = []func(g *Graph, node int){
	(*Graph).findPoolGradient,
	(*Graph).findNormEpilogue,
	(*Graph).findNormGradient,
	(*Graph).findHalves,
	(*Graph).findProduct,
	(*Graph).findPackedProduct,
	(*Graph).findRowCoding,
	(*Graph).findAllFinite,
	(*Graph).findSoftmax,
	(*Graph).findExtremeGradient,
}

// schedules change the units of a program that updates variables. They run in order.
var schedules = []func(g *Graph){
	(*Graph).JoinWidening,
	(*Graph).JoinDescent,
	(*Graph).ScheduleUpdates,
	(*Graph).BucketUpdates,
}

// Options say how a program will run.
type Options struct {
	Overlap bool // all-reduces run while the replica computes
	Plain   bool // every node is a unit of its own and nothing is overwritten; the reference for tests
	Updates bool // outputs may replace inputs, which they may not in sub-programs

	Predicts bool // the program only predicts: sums may be rounded differently
}

// Build decides what runs as one step, and in which order the steps run.
func Build(p *ir.Program, o Options) *Graph {
	g := NewGraph(p)
	g.Plain, g.overlap, g.predicts = o.Plain, o.Overlap, o.Predicts
	g.Group()
	if o.Updates && !o.Plain {
		for _, schedule := range schedules {
			schedule(g)
		}
	}
	g.addWaits()
	return g
}
