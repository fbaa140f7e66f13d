// Command table writes docs/cuda_operations.md: how each operation of a program runs on a GPU, as [lower.How] says.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	write(out)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// groups are the answers of [lower.How], in the order of the document.
var groups = []struct{ how, title, text string }{
	{"kernel", "A kernel of their own", "Elementwise operations around it are part of the kernel, where its threads hold what they need."},
	{"kernel or decomposition", "A kernel of their own, or a decomposition", "The kernel is for the types and shapes that docs/cuda.md names; others run as the operations that define them."},
	{"chain", "Part of other kernels", "They are computed where their result is read; what nobody reads so, or what is read too often for that, has a kernel of its own, which holds a whole chain."},
	{"decomposition", "A decomposition", "They run as the operations that define them, which fuse with those around."},
	{"launches", "Launches of what is inside", "The kernels of the inner programs are launched for each round; loops of recurrent layers that fit are one kernel. The host looks at the condition of While; both branches of Cond are launched, and one writes."},
	{"collective", "Between replicas", "They are kernels that read all operands, or NCCL's, as docs/cuda.md says."},
}

func write(w io.Writer) {
	all := map[string][]string{}
	for _, op := range ir.Ops() {
		how := lower.How(op)
		all[how] = append(all[how], fmt.Sprintf("`%v`", op))
	}
	fmt.Fprint(w, "# Operations on NVIDIA GPUs\n\n")
	fill(w, strings.Fields("How each operation of a program runs there. This page is generated from the code, and compared with it in each check: `go run ./kernels/cuda/internal/lower/table`. No operation runs on the host, and every one runs without NVIDIA's libraries; large products may be cuBLASLt's and large convolutions cuDNN's, as docs/cuda.md says."))
	for _, g := range groups {
		fmt.Fprintf(w, "\n## %s\n\n", g.title)
		fill(w, strings.Fields(g.text))
		fmt.Fprintln(w)
		var names []string
		for i, name := range all[g.how] {
			if i < len(all[g.how])-1 {
				name += ","
			}
			names = append(names, name)
		}
		fill(w, names)
	}
}

// fill writes words in lines of at most 120 columns.
func fill(w io.Writer, words []string) {
	line := ""
	for _, word := range words {
		if len(line)+len(word) > 119 {
			fmt.Fprintln(w, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}
