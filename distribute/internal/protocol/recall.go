package protocol

import "fmt"

// Recall restores the optimizer's state for a table from a checkpoint.
type Recall struct {
	Term  uint64
	Table uint32
	Step  uint64      // updates so far
	Slots [][]float32 // in the order of the rule
}

func (*Recall) kind() commandKind { return recallKind }

func (c *Recall) encode(w *Writer) {
	w.Uint(c.Term)
	w.Uint(uint64(c.Table))
	w.Uint(c.Step)
	w.Uint(uint64(len(c.Slots)))
	for _, slot := range c.Slots {
		w.Floats(slot)
	}
}

func (c *Recall) decode(r *Reader) {
	c.Term, c.Table, c.Step = r.Uint(), uint32(r.Uint()), r.Uint()
	for range r.count(1) {
		c.Slots = append(c.Slots, r.Floats())
	}
}

func (c *Recall) check(s *State) error {
	if err := s.checkTerm(c.Term); err != nil {
		return err
	}
	t, err := s.Table(c.Table)
	if err != nil {
		return err
	}
	if t.Dynamic {
		return fmt.Errorf("parameterserver: table %s is dynamic; its rows bring the state of the optimizer with them", t.Name)
	}
	if len(c.Slots) != len(t.slots) {
		return fmt.Errorf("parameterserver: table %s: %d slots of the optimizer, expected %v", t.Name, len(c.Slots), t.Rule.SlotNames())
	}
	for i, slot := range c.Slots {
		if len(slot) != len(t.slots[i]) {
			return fmt.Errorf("parameterserver: table %s: slot %s has %d numbers, expected %d", t.Name, t.Rule.SlotNames()[i], len(slot), len(t.slots[i]))
		}
	}
	return nil
}

func (c *Recall) execute(s *State) Reply {
	t := s.tables[c.Table]
	t.Step = c.Step
	for i, slot := range c.Slots {
		copy(t.slots[i], slot)
	}
	return Reply{}
}
