package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Workers that disagree about a program know only its checksum. So that the error can say where the programs differ,
// they send each other the texts; at that point nothing can be saved any more.

// differing is implemented by errors of groups that report a disagreement between workers.
type differing interface {
	// ProgramsDiffer reports whether they make the same call with different programs.
	ProgramsDiffer() bool
}

// programText is what a worker says about itself, as JSON.
type programText struct {
	Devices, Site string
	Lines         []programLine
}

// programLine is an input, an operation or a replica.
type programLine struct{ Scope, Text string }

// mostLines bounds what is sent.
const mostLines = 1 << 17

// explainWithin bounds the wait for the texts of the others.
const explainWithin = 5 * time.Second

// explain adds to an error about workers that disagree the first place where their programs differ. All workers get the
// error, and call it.
func explain(at *Placement, name string, programs []*tracedProgram, err error) error {
	var d differing
	if !errors.As(err, &d) || !d.ProgramsDiffer() {
		return err
	}
	data, failed := json.Marshal(programText{at.DeviceNames(), at.Site, linesOf(programs)})
	if failed != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), explainWithin)
	defer cancel()
	blocks, failed := at.Group.AllGather(ctx, WorkerCall{Name: name + ": how programs differ"}, data)
	if failed != nil || len(blocks) == 0 {
		return err
	}
	all := make([]programText, len(blocks))
	for rank, block := range blocks {
		if json.Unmarshal(block, &all[rank]) != nil {
			return err
		}
	}
	for rank, other := range all[1:] {
		if k := firstDifference(all[0].Lines, other.Lines); k >= 0 {
			return fmt.Errorf("%w; their programs differ first where %s has %s, and %s has %s", err, all[0].who(0), all[0].line(k), other.who(rank+1), other.line(k))
		}
	}
	return err
}

func linesOf(programs []*tracedProgram) []programLine {
	var lines []programLine
	for i, p := range programs {
		if i == 0 || p != programs[i-1] {
			lines = append(lines, programLine{Text: fmt.Sprintf("a program from replica %d on", i)})
			lines = appendLines(lines, p.program)
		}
	}
	return lines[:min(len(lines), mostLines)]
}

// appendLines adds the inputs and operations of a program, with those of its loops and branches.
func appendLines(lines []programLine, p *ir.Program) []programLine {
	for _, in := range p.Inputs {
		lines = append(lines, programLine{in.Name, fmt.Sprintf("an input of %v", p.Type(in.Value))})
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		text := n.Op.String()
		if a := ir.AttrString(n.Attrs); a != "" {
			text += " {" + a + "}"
		}
		text += " of"
		for _, v := range n.Inputs {
			text += fmt.Sprintf(" %v", p.Type(v))
		}
		lines = append(lines, programLine{n.Scope, text})
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if sub != nil {
				lines = appendLines(lines, sub)
			}
		}
	}
	return lines
}

// firstDifference is the number of the first line that differs; -1 if all are equal.
func firstDifference(a, b []programLine) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i].Text != b[i].Text {
			return i
		}
	}
	return -1
}

// who names a worker, with its devices and where its strategy was made.
func (p *programText) who(rank int) string {
	text := fmt.Sprintf("worker %d (%s", rank, p.Devices)
	if p.Site != "" {
		text += ", strategy made at " + p.Site
	}
	return text + ")"
}

func (p *programText) line(k int) string {
	switch {
	case k >= len(p.Lines):
		return "nothing more"
	case p.Lines[k].Scope == "":
		return p.Lines[k].Text
	}
	return fmt.Sprintf("%s in %q", p.Lines[k].Text, p.Lines[k].Scope)
}
