package recovery_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute/recovery"
)

// A worker loses another one in a training step. The next group finds that this worker has all that any of them has, so
// that the step is done again.
func ExampleMachine() {
	var m recovery.Machine
	m.Undertake(recovery.Task{Kind: recovery.Enter})
	_, _ = m.Apply(recovery.Event{Outcome: recovery.Done})
	fmt.Println(m.Undertake(recovery.Task{Kind: recovery.Step, Next: recovery.Place{Epoch: 0, Done: 1}}))
	for _, o := range []recovery.Outcome{recovery.Lost, recovery.Done, recovery.Kept, recovery.Done, recovery.Done, recovery.Done} {
		next, err := m.Apply(recovery.Event{Outcome: o})
		fmt.Println(o, "->", next, err)
	}
	fmt.Println("position", m.State().Position)
	// Output:
	// attempt
	// lost -> form <nil>
	// done -> transfer <nil>
	// kept -> restore <nil>
	// done -> agree <nil>
	// done -> attempt <nil>
	// done -> proceed <nil>
	// position 2
}

// A worker that is one position behind is given what it failed to do, and skips it.
func ExampleEvent() {
	var m recovery.Machine
	m.Undertake(recovery.Task{Kind: recovery.Enter})
	_, _ = m.Apply(recovery.Event{Outcome: recovery.Done})
	next := recovery.Place{Epoch: 0, Done: 1}
	m.Undertake(recovery.Task{Kind: recovery.Step, Next: next})
	for _, e := range []recovery.Event{
		{Outcome: recovery.Lost}, {Outcome: recovery.Done},
		{Outcome: recovery.Took, State: recovery.State{Position: 2, Fits: 1, Inside: true, Place: next}}, {Outcome: recovery.Done},
	} {
		a, err := m.Apply(e)
		fmt.Println(e.Outcome, "->", a, err)
	}
	// Output:
	// lost -> form <nil>
	// done -> transfer <nil>
	// took -> restore <nil>
	// done -> skip <nil>
}
