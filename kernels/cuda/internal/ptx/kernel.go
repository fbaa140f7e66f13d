package ptx

import (
	"fmt"
	"strings"
)

// Kernel is an entry point being written.
type Kernel struct {
	params int
	maps   int // number of parameters that are tensor maps; they follow the others
	counts [classes]int32
	head   strings.Builder // loads of parameters, which precede all other instructions
	body   strings.Builder
	woven  *strings.Builder // if not nil, receives instructions instead of body
	shared int              // bytes of shared memory
	labels int
	// MaxThreads is the maximum number of threads of a block, which the compiler may rely on.
	MaxThreads int
	// MinBlocks is how many blocks should fit on a multiprocessor at once, which limits the registers of a thread; 0
	// leaves it to the compiler.
	MinBlocks int
	// Ampere says that there are instructions for compute capability 8.0 and later, Hopper that there are some for 9.0
	// only.
	Ampere, Hopper bool
	// Dynamic is the size of the launch's dynamic shared memory, in addition to that taken by Shared; see
	// [Kernel.DynamicBase].
	Dynamic int
	// Team is the number of threads that take part in barriers, if other threads of the block do something else; 0
	// means all.
	Team int
}

// text returns the builder that receives instructions.
func (k *Kernel) text() *strings.Builder {
	if k.woven != nil {
		return k.woven
	}
	return &k.body
}

// Param adds a 64-bit parameter and returns the register that holds it.
func (k *Kernel) Param() Operand {
	r := k.Reg(B64)
	fmt.Fprintf(&k.head, "\tld.param.u64 %v, [param_%d];\n", r, k.params)
	k.params++
	return r
}

// Pointer adds a parameter that points to global memory, and returns the register that holds it.
func (k *Kernel) Pointer() Operand {
	p, r := k.Param(), k.Reg(B64)
	fmt.Fprintf(&k.head, "\tcvta.to.global.u64 %v, %v;\n", r, p)
	return r
}

// TensorMap adds a tensor map as a parameter of 128 bytes, and returns the register that holds its address. Tensor maps
// follow the other parameters.
func (k *Kernel) TensorMap() Operand {
	r := k.Reg(B64)
	fmt.Fprintf(&k.head, "\tmov.b64 %v, map_%d;\n\tcvta.param.u64 %v, %v;\n", r, k.maps, r, r)
	k.maps++
	return r
}

// Reg returns a new register.
func (k *Kernel) Reg(c Class) Operand {
	k.counts[c]++
	return Operand{Class: c, id: k.counts[c]}
}

// Op appends an instruction with a new register for its result.
func (k *Kernel) Op(c Class, name string, operands ...Operand) Operand {
	r := k.Reg(c)
	k.To(r, name, operands...)
	return r
}

// To appends an instruction that writes the given register.
func (k *Kernel) To(r Operand, name string, operands ...Operand) {
	b := k.text()
	b.WriteByte('\t')
	b.WriteString(name)
	b.WriteByte(' ')
	b.WriteString(r.String())
	for _, o := range operands {
		b.WriteString(", ")
		b.WriteString(o.String())
	}
	b.WriteString(";\n")
}

// Line appends an instruction given as text.
func (k *Kernel) Line(format string, args ...any) {
	fmt.Fprintf(k.text(), "\t"+format+";\n", args...)
}

// Label returns the name of a new label.
func (k *Kernel) Label() string {
	k.labels++
	return fmt.Sprintf("L%d", k.labels)
}

// Place defines a label at this point.
func (k *Kernel) Place(label string) { k.text().WriteString(label + ":\n") }

// Branch jumps to a label.
func (k *Kernel) Branch(label string) { k.Line("bra %s", label) }

// BranchIf jumps to a label if the predicate is true.
func (k *Kernel) BranchIf(p Operand, label string) { k.Line("@%v bra %s", p, label) }

// BranchUnless jumps to a label if the predicate is false.
func (k *Kernel) BranchUnless(p Operand, label string) { k.Line("@!%v bra %s", p, label) }

// Barrier makes the threads of a block, or of its team, wait for each other.
func (k *Kernel) Barrier() {
	if k.Team > 0 {
		k.Line("bar.sync 1, %d", k.Team)
		return
	}
	k.Line("bar.sync 0")
}

// Shared reserves bytes of the block's shared memory and returns their offset in it; see [Kernel.SharedBase].
func (k *Kernel) Shared(bytes int) int {
	at := k.shared
	k.shared += (bytes + 15) &^ 15
	return at
}

// SharedBase returns the 32-bit address of the block's shared memory.
func (k *Kernel) SharedBase() Operand {
	r := k.Reg(B32)
	k.Line("mov.u32 %v, shared_memory", r)
	return r
}

// DynamicBase returns the 32-bit address of the dynamic shared memory, a multiple of 16.
func (k *Kernel) DynamicBase() Operand {
	r := k.Reg(B32)
	k.Line("mov.u32 %v, dynamic_memory", r)
	return r
}

// Text returns the kernel as an entry point with the given name.
func (k *Kernel) Text(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry %s(", name)
	for i := range k.params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, ".param .u64 param_%d", i)
	}
	for i := range k.maps {
		fmt.Fprintf(&b, ", .param .align 64 .b8 map_%d[128]", i)
	}
	b.WriteString(")\n")
	if k.MaxThreads > 0 {
		fmt.Fprintf(&b, ".maxntid %d, 1, 1\n", k.MaxThreads)
	}
	if k.MinBlocks > 0 {
		fmt.Fprintf(&b, ".minnctapersm %d\n", k.MinBlocks)
	}
	b.WriteString("{\n")
	for c := range classes {
		if n := k.counts[c]; n > 0 {
			fmt.Fprintf(&b, "\t.reg %s %s<%d>;\n", classType[c], classPrefix[c], n+1)
		}
	}
	if k.shared > 0 {
		fmt.Fprintf(&b, "\t.shared .align 16 .b8 shared_memory[%d];\n", k.shared)
	}
	b.WriteString(k.head.String())
	b.WriteString(k.body.String())
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// Module joins several kernels into one text. It contains equal kernels once.
type Module struct {
	text    strings.Builder
	names   map[string]string // by the kernel's text
	ampere  bool
	hopper  bool
	dynamic bool
}

// Add adds a kernel and returns its name.
func (m *Module) Add(k *Kernel) string {
	body := k.Text("")
	if name, ok := m.names[body]; ok {
		return name
	}
	if m.names == nil {
		m.names = map[string]string{}
	}
	name := fmt.Sprintf("kernel_%d", len(m.names))
	m.names[body] = name
	m.ampere, m.hopper, m.dynamic = m.ampere || k.Ampere, m.hopper || k.Hopper, m.dynamic || k.Dynamic > 0
	m.text.WriteString(k.Text(name))
	return name
}

// The first lines of modules: Header in general, HeaderAmpere with instructions for compute capability 8.0,
// HeaderHopper with instructions for 9.0, which run on no other. Dynamic follows if launches provide dynamic shared
// memory.
const (
	Header       = ".version 6.4\n.target sm_75\n.address_size 64\n"
	HeaderAmpere = ".version 7.0\n.target sm_80\n.address_size 64\n"
	HeaderHopper = ".version 8.0\n.target sm_90a\n.address_size 64\n"
	Dynamic      = ".extern .shared .align 16 .b8 dynamic_memory[];\n"
)

// String returns the whole text.
func (m *Module) String() string {
	header := Header
	switch {
	case m.hopper:
		header = HeaderHopper
	case m.ampere:
		header = HeaderAmpere
	}
	if m.dynamic {
		header += Dynamic
	}
	return header + m.text.String()
}
