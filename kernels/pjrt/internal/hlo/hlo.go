// Package hlo reads compiled programs of XLA.
package hlo

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Numbers of fields in xla/service/hlo.proto.
const (
	moduleOfConfig     = 1 // of HloModuleProtoWithConfig
	computations       = 3 // of HloModuleProto
	entry              = 6
	instructions       = 2 // of HloComputationProto
	number             = 5
	opcode             = 2 // of HloInstructionProto
	calledComputations = 38
)

// collectives are the operations between devices. The end of one that was begun before is none of its own.
var collectives = map[string]bool{
	"all-reduce": true, "all-gather": true, "reduce-scatter": true, "all-to-all": true, "ragged-all-to-all": true, "collective-permute": true, "collective-broadcast": true,
}

// computation is a function of a program.
type computation struct {
	counts   map[string]int // of collectives
	called   []uint64
	branches []uint64 // called by conditionals
}

// Collectives counts the operations of a program that exchange values between devices, by name ("all-reduce"). One in
// the body of a loop counts once; those in the branches of conditionals are counted apart. format is what the plugin
// calls the bytes: "hlo" or "hlo_with_config".
func Collectives(code []byte, format string) (always, inBranches map[string]int, err error) {
	all, first := map[uint64]*computation{}, uint64(0)
	err = inModule(code, format, func(field, n uint64, contents []byte) error {
		switch field {
		case entry:
			first = n
		case computations:
			number, c, err := read(contents)
			all[number] = c
			return err
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	always, inBranches = map[string]int{}, map[string]int{}
	visit(all, map[uint64]bool{}, first, always, inBranches)
	return always, inBranches, nil
}

// inModule calls do with the fields of a module.
func inModule(code []byte, format string, do func(field, n uint64, contents []byte) error) error {
	switch format {
	case "hlo":
		return each(code, do)
	case "hlo_with_config":
		return each(code, func(field, _ uint64, contents []byte) error {
			if field == moduleOfConfig {
				return each(contents, do)
			}
			return nil
		})
	}
	return fmt.Errorf("hlo: a program in format %q; expected hlo or hlo_with_config", format)
}

// visit adds up what a computation and those that it calls exchange, each computation once: those that run anyway
// before those of branches.
func visit(all map[uint64]*computation, seen map[uint64]bool, first uint64, always, inBranches map[string]int) {
	var branches []uint64
	next, counts := []uint64{first}, always
	for len(next) > 0 || len(branches) > 0 {
		if len(next) == 0 {
			next, branches, counts = branches, nil, inBranches
		}
		number := next[len(next)-1]
		next = next[:len(next)-1]
		c := all[number]
		if c == nil || seen[number] {
			continue
		}
		seen[number] = true
		for name, n := range c.counts {
			counts[name] += n
		}
		next, branches = append(next, c.called...), append(branches, c.branches...)
	}
}

// read reads a computation and its number.
func read(message []byte) (own uint64, c *computation, err error) {
	c = &computation{counts: map[string]int{}}
	err = each(message, func(field, n uint64, contents []byte) error {
		switch field {
		case number:
			own = n
		case instructions:
			return c.instruction(contents)
		}
		return nil
	})
	return own, c, err
}

func (c *computation) instruction(message []byte) error {
	name := ""
	var called []uint64
	err := each(message, func(field, n uint64, contents []byte) error {
		switch {
		case field == opcode:
			name = string(contents)
		case field == calledComputations:
			all, err := numbers(called, n, contents)
			called = all
			return err
		}
		return nil
	})
	if name == "conditional" {
		c.branches = append(c.branches, called...)
	} else {
		c.called = append(c.called, called...)
	}
	if name := strings.TrimSuffix(name, "-start"); collectives[name] {
		c.counts[name]++
	}
	return err
}

// each calls do with the fields of a message of protocol buffers: their number, and the number that they hold or their
// contents.
func each(message []byte, do func(field, n uint64, contents []byte) error) error {
	for len(message) > 0 {
		key, size := binary.Uvarint(message)
		if size <= 0 {
			return fmt.Errorf("hlo: a field's number is cut short %d bytes before the end of its message", len(message))
		}
		message = message[size:]
		n, length := uint64(0), uint64(0)
		var contents []byte
		switch key & 7 {
		case 0:
			if n, size = binary.Uvarint(message); size <= 0 {
				return fmt.Errorf("hlo: field %d is cut short", key>>3)
			}
			length = uint64(size)
		case 1:
			length = 8
		case 2:
			if length, size = binary.Uvarint(message); size <= 0 {
				return fmt.Errorf("hlo: the length of field %d is cut short", key>>3)
			}
			message = message[size:]
		case 5:
			length = 4
		default:
			return fmt.Errorf("hlo: field %d has the unknown kind %d", key>>3, key&7)
		}
		if length > uint64(len(message)) {
			return fmt.Errorf("hlo: field %d has %d bytes, %d are left", key>>3, length, len(message))
		}
		if key&7 == 2 {
			contents = message[:length:length]
		}
		if err := do(key>>3, n, contents); err != nil {
			return err
		}
		message = message[length:]
	}
	return nil
}
