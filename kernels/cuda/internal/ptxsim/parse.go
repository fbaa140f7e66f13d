package ptxsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Module is a parsed text.
type Module struct {
	Kernels map[string]*Kernel
	target  string
}

// RunsOn reports whether the module runs on a compute capability, given as major·10+minor. A module is for a capability
// and all later ones, or for that one only.
func (m *Module) RunsOn(capability int) bool {
	number, alone := strings.CutSuffix(strings.TrimPrefix(m.target, "sm_"), "a")
	n, err := strconv.Atoi(number)
	return err == nil && (n == capability || n < capability && !alone)
}

// Kernel is a parsed entry point.
type Kernel struct {
	Name   string
	Params int
	Maps   int // number of parameters that are tensor maps; they follow the others
	Shared int

	code     []instruction
	slots    int // registers, then constants
	initial  []uint64
	special  [6]int32 // slots of the special registers, in the order of specialNames
	barriers bool
	fences   bool // it has warp-group products, which need fences
}

// instruction is a decoded instruction. Its operands are slots, of registers or constants.
type instruction struct {
	run        func(t *thread, in *instruction)
	warp       func(w []thread, in *instruction) error // executed by a warp together
	d, a, b, c int32
	group      func(w []thread, in *instruction) error // executed by four warps together
	list       []int32                                 // operands, if there are more than four or they are in braces
	offset     int64                                   // added to an address
	guard      int32                                   // slot of its predicate; -1 for none
	negated    bool
	target     int32
	line       int32
	kind       kind
	text       string
}

type kind uint8

const (
	plain kind = iota
	branch
	barrier
	together // executed by a warp together
	leave
)

// parser parses one kernel.
type parser struct {
	kernel *Kernel
	slots  map[string]int32
	values []uint64
	labels map[string]int32
	jumps  map[int]string
	sizes  map[string]int // number of declared registers, by prefix
	signs  signs
}

// Parse parses a module.
func Parse(text string) (*Module, error) {
	m := &Module{Kernels: map[string]*Kernel{}}
	var p *parser
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case strings.HasPrefix(line, ".target "):
			m.target = strings.TrimPrefix(line, ".target ")
		case line == "" || strings.HasPrefix(line, ".extern .shared") || line == "{" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, ".maxntid") || strings.HasPrefix(line, ".minnctapersm") || strings.HasPrefix(line, ".version") || strings.HasPrefix(line, ".address_size"):
		case strings.HasPrefix(line, ".visible .entry "):
			p = newParser(line)
		case p == nil:
			err = fmt.Errorf("outside of a kernel")
		case line == "}":
			err = p.end()
			m.Kernels[p.kernel.Name] = p.kernel
			p = nil
		case strings.HasSuffix(line, ":"):
			p.labels[strings.TrimSuffix(line, ":")] = int32(len(p.kernel.code))
		default:
			err = p.statement(line, number+1)
		}
		if err != nil {
			return nil, fmt.Errorf("ptxsim: line %d, %q: %w", number+1, line, err)
		}
	}
	if p != nil {
		return nil, fmt.Errorf("ptxsim: kernel %s has no end", p.kernel.Name)
	}
	return m, nil
}

var specialNames = [6]string{"%tid.x", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.x", "%nctaid.x"}

func newParser(line string) *parser {
	head := strings.TrimPrefix(line, ".visible .entry ")
	name, rest, _ := strings.Cut(head, "(")
	k := &Kernel{Name: name, Maps: strings.Count(rest, ".b8 map_")}
	k.Params = strings.Count(rest, ".param") - k.Maps
	p := &parser{kernel: k, slots: map[string]int32{}, labels: map[string]int32{}, jumps: map[int]string{}, sizes: map[string]int{}, signs: signs{}}
	for i := range k.Params {
		p.slot("param_"+strconv.Itoa(i), 0)
	}
	for i, name := range specialNames {
		k.special[i] = p.slot(name, 0)
	}
	return p
}

// slot returns the slot of a register, or of a constant with the given value.
func (p *parser) slot(name string, value uint64) int32 {
	if s, ok := p.slots[name]; ok {
		return s
	}
	s := int32(len(p.values))
	p.slots[name] = s
	p.values = append(p.values, value)
	return s
}

func (p *parser) end() error {
	for at, label := range p.jumps {
		target, ok := p.labels[label]
		if !ok {
			return fmt.Errorf("there is no label %s", label)
		}
		p.kernel.code[at].target = target
	}
	p.kernel.slots, p.kernel.initial = len(p.values), p.values
	return nil
}

// statement parses a declaration or an instruction.
func (p *parser) statement(line string, number int) error {
	if !strings.HasSuffix(line, ";") {
		return fmt.Errorf("expected a semicolon at the end")
	}
	line = strings.TrimSuffix(line, ";")
	if strings.HasPrefix(line, ".reg") {
		fields := strings.Fields(line)
		prefix, count, _ := strings.Cut(strings.TrimSuffix(fields[2], ">"), "<")
		n, err := strconv.Atoi(count)
		p.sizes[prefix] = n
		return err
	}
	if strings.HasPrefix(line, ".shared") {
		_, count, _ := strings.Cut(strings.TrimSuffix(line, "]"), "[")
		n, err := strconv.Atoi(count)
		p.kernel.Shared, p.kernel.barriers = n, true // who touches what is known of threads that run between barriers
		return err
	}
	in := instruction{guard: -1, target: -1, line: int32(number), text: line}
	if line[0] == '@' {
		guard, rest, _ := strings.Cut(line[1:], " ")
		in.negated = guard[0] == '!'
		var err error
		if in.guard, err = p.operand(strings.TrimPrefix(guard, "!"), "pred"); err != nil {
			return err
		}
		line = rest
	}
	if err := p.signs.see(line); err != nil {
		return err
	}
	name, rest, _ := strings.Cut(line, " ")
	var operands []string
	for _, o := range strings.Split(rest, ",") {
		if o = strings.TrimSpace(o); o != "" {
			operands = append(operands, o)
		}
	}
	if err := p.instruction(&in, name, operands); err != nil {
		return err
	}
	p.kernel.code = append(p.kernel.code, in)
	return nil
}

// instruction resolves the name and the operands.
func (p *parser) instruction(in *instruction, name string, operands []string) error {
	switch name {
	case "bra":
		in.kind = branch
		p.jumps[len(p.kernel.code)] = operands[0]
		return nil
	case "bar.sync":
		in.kind = barrier
		p.kernel.barriers = true
		if len(operands) > 1 { // the number of threads that take part
			n, err := strconv.ParseInt(operands[1], 10, 64)
			in.offset = n
			return err
		}
		return nil
	case "ret":
		in.kind = leave
		return nil
	}
	if group, ok := groupInstructions[name]; ok {
		if in.guard >= 0 {
			return fmt.Errorf("%s has a guard, and its warp group executes it together", name)
		}
		in.kind, in.group = together, group
		p.kernel.barriers, p.kernel.fences = true, true
	}
	if warp, ok := warpInstructions[name]; ok {
		if in.guard >= 0 {
			return fmt.Errorf("%s has a guard, and its warp executes it together", name)
		}
		in.kind, in.warp = together, warp
		p.kernel.barriers = true // threads wait for each other
	}
	run, ok := instructions[name]
	if in.kind == plain && !ok {
		return fmt.Errorf("the instruction %s is not one of those that are known here", name)
	}
	in.run = run
	parts := strings.Split(name, ".")
	typ := parts[len(parts)-1]
	slots := []*int32{&in.d, &in.a, &in.b, &in.c}
	for i, o := range operands {
		if o = strings.TrimLeft(strings.TrimRight(o, "}]"), "{"); strings.HasPrefix(o, "[") {
			base, offset, found := strings.Cut(o[1:], "+")
			if found {
				n, err := strconv.ParseInt(offset, 10, 64)
				if err != nil {
					return err
				}
				in.offset = n
			}
			o = base
		}
		s, err := p.operand(o, typ)
		if err != nil {
			return err
		}
		if in.list = append(in.list, s); i < len(slots) {
			*slots[i] = s
		}
	}
	return nil
}

// operand returns the slot of a register or of an immediate.
func (p *parser) operand(o, typ string) (int32, error) {
	switch {
	case o == "shared_memory":
		return p.slot(o, 0), nil
	case o == "dynamic_memory":
		p.kernel.barriers = true
		return p.slot(o, uint64(dynamicAfter(p.kernel.Shared))), nil
	case o == "_": // an unused result
		return p.slot(o, 0), nil
	case strings.HasPrefix(o, "map_"):
		i, err := strconv.Atoi(o[len("map_"):])
		if err != nil || i >= p.kernel.Maps {
			return 0, fmt.Errorf("there is no parameter %s", o)
		}
		return p.slot(o, addressOfMap(i)), nil
	case strings.HasPrefix(o, "param_"):
		if s, ok := p.slots[o]; ok {
			return s, nil
		}
		return 0, fmt.Errorf("there is no parameter %s", o)
	case strings.HasPrefix(o, "%"):
		if s, ok := p.slots[o]; ok {
			return s, nil
		}
		prefix := strings.TrimRight(o, "0123456789")
		n, err := strconv.Atoi(o[len(prefix):])
		if err != nil || n >= p.sizes[prefix] {
			return 0, fmt.Errorf("the register %s is not declared", o)
		}
		return p.slot(o, 0), nil
	case strings.HasPrefix(o, "0f"):
		n, err := strconv.ParseUint(o[2:], 16, 32)
		return p.slot(o, n), err
	case strings.HasPrefix(o, "0d"):
		n, err := strconv.ParseUint(o[2:], 16, 64)
		return p.slot(o, n), err
	}
	n, err := strconv.ParseInt(o, 0, 64)
	if err != nil {
		return 0, err
	}
	if n > math.MaxUint32 || n < math.MinInt32 {
		return p.slot(o, uint64(n)), nil
	}
	return p.slot(o+"/"+strconv.Itoa(len(typ)), uint64(n)), nil
}
