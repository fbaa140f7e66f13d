package collective

import (
	"fmt"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels/ir"
)

type kind uint8

const (
	barrier kind = iota
	allReduce
	allGather
	broadcast
	failure // a worker says that it failed, in place of what the others call
	kindCount
)

const failureWord = "Failure"

func (k kind) String() string {
	return [...]string{"Barrier", "AllReduce", "AllGather", "Broadcast", failureWord, "invalid"}[min(k, kindCount)]
}

// call is one collective as this worker makes it. Its fields must be equal on all workers.
type call struct {
	sequence uint64
	kind     kind
	op       Reduction
	root     int
	wire     ir.DType
	name     string
	program  uint64
	step     uint64        // of the training; 0: none
	timeout  time.Duration // 0: the group's; need not be equal
	tensors  []Tensor      // for AllGather only types and all axes but the first count
	hash     uint64
}

// CallOption is an option of one collective.
type CallOption interface{ apply(*call) }

type callOption func(*call)

func (f callOption) apply(c *call) { f(c) }

// Name names the collective in errors, after a variable or a place in the program. The name must be the same on all
// workers.
func Name(name string) CallOption { return callOption(func(c *call) { c.name = name }) }

// Program sets the hash of the program that the collective belongs to, so that workers detect that their programs
// differ.
func Program(hash uint64) CallOption { return callOption(func(c *call) { c.program = hash }) }

// Wire sends float32 sums as another type; ir.BFloat16 halves the bytes. Each partial sum is rounded to that type, and
// so is the result.
func Wire(d ir.DType) CallOption { return callOption(func(c *call) { c.wire = d }) }

// Within bounds the wait for members that are alive; it replaces Options.Timeout.
func Within(d time.Duration) CallOption { return callOption(func(c *call) { c.timeout = d }) }

// inProgram precedes the hash of a program in errors.
const inProgram = " in program "

// describe describes the call for errors. Workers that disagree compare their descriptions.
func (c *call) describe() string {
	var b strings.Builder
	b.WriteString(c.opening())
	for i, t := range c.tensors {
		if i == 16 {
			rest := 0
			for _, t := range c.tensors[i:] {
				rest += t.elements()
			}
			fmt.Fprintf(&b, " and %d more of %d elements", len(c.tensors)-i, rest)
			break
		}
		fmt.Fprintf(&b, " %v%s", t.DType, c.shape(t))
	}
	if c.wire != ir.Invalid {
		fmt.Fprintf(&b, " as %v", c.wire)
	}
	if c.step != 0 {
		fmt.Fprintf(&b, " after step %d", c.step)
	}
	if c.program != 0 {
		fmt.Fprintf(&b, "%s%016x", inProgram, c.program)
	}
	fmt.Fprintf(&b, " (%016x)", c.hash)
	return b.String()
}

// opening returns the beginning of describe: the kind and the name.
func (c *call) opening() string {
	text := c.kind.String()
	switch c.kind {
	case allReduce:
		text += fmt.Sprintf(" %v", c.op)
	case broadcast:
		text += fmt.Sprintf(" from rank %d", c.root)
	}
	if c.name != "" {
		text += fmt.Sprintf(" %q", c.name)
	}
	return text
}

func (c *call) shape(t Tensor) string {
	shape := t.Shape
	if shape == nil {
		shape = []int{t.elements()}
	}
	words := make([]string, len(shape))
	for i, n := range shape {
		words[i] = fmt.Sprint(n)
		if c.kind == allGather && i == 0 {
			words[i] = "?"
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}

// digest sets hash to the FNV-1a hash of everything that must be equal.
func (c *call) digest() {
	h := uint64(14695981039346656037)
	mix := func(x uint64) {
		for range 8 {
			h = (h ^ x&255) * 1099511628211
			x >>= 8
		}
	}
	mix(c.sequence)
	mix(uint64(c.kind)<<24 | uint64(c.op)<<16 | uint64(c.wire)<<8)
	mix(uint64(c.root))
	mix(c.program)
	mix(c.step)
	mix(uint64(len(c.name)))
	for i := range len(c.name) {
		h = (h ^ uint64(c.name[i])) * 1099511628211
	}
	mix(uint64(len(c.tensors)))
	for _, t := range c.tensors {
		mix(uint64(t.DType))
		if t.Shape == nil {
			mix(1)
			if c.kind != allGather {
				mix(uint64(t.elements()))
			}
			continue
		}
		mix(uint64(len(t.Shape)))
		for i, n := range t.Shape {
			if c.kind != allGather || i > 0 {
				mix(uint64(n))
			}
		}
	}
	c.hash = h
}

// record is a copy of a call, for the time when the caller's memory may have changed. It reuses its own memory.
type record struct {
	call
	parts []Tensor
	axes  []int
}

func (r *record) set(c *call) {
	r.call, r.parts, r.axes = *c, r.parts[:0], r.axes[:0]
	for _, t := range c.tensors {
		first := len(r.axes)
		if t.Shape == nil {
			r.axes = append(r.axes, t.elements())
		} else {
			r.axes = append(r.axes, t.Shape...)
		}
		r.parts = append(r.parts, Tensor{DType: t.DType, Shape: r.axes[first:len(r.axes):len(r.axes)]})
	}
	r.tensors = r.parts
}
