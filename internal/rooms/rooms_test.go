// Package rooms tests which packages may import which.
package rooms

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gokeras/gokeras/"

// floors lists every room with its floor. A package imports only rooms on lower floors and its own subfolders; a room
// is matched by its longest prefix. A package without a row fails the test, so that the table cannot rot.
var floors = map[string]int{
	"kernels/ir":                   1,
	"kernels/ir/pass":              2,
	"internal":                     1,
	"internal/testdevice":          7,
	"internal/benchpeers":          9,
	"internal/mutants":             9,
	"internal/benchcollective":     9,
	"internal/harvest":             9,
	"internal/randomnets":          9,
	"internal/randomops":           9,
	"internal/benchops":            9,
	"internal/benchps":             9,
	"internal/benchdata":           9,
	"kernels":                      2,
	"kernels/stablehlo":            2,
	"kernels/internal/parts":       2,
	"kernels/internal/unreachable": 2,
	"kernels/reference":            3,
	"kernels/kernelstest":          4,
	"kernels/cpu":                  3,
	"kernels/pjrt":                 3,
	"kernels/cuda":                 3,
	"kernels/partition":            3,
	"keras/ops":                    4,
	"keras/boundingboxes":          5,
	"kernels/exec":                 5,
	"distribute":                   6,
	"layers":                       7,
	"losses":                       7,
	"metrics":                      7,
	"optimizers":                   7,
	"data":                         7,
	"callbacks":                    7,
	"keras":                        8,
	"cmd":                          9,
	"examples":                     9,
}

// restricted lists packages that only the named rooms may import ("/..." takes in what lies below a room): outside ones
// because of what they bring into every program that links them, and leaves of our own because nothing may grow to need
// them.
var restricted = []restriction{
	{"google.golang.org/grpc", []string{"distribute/collective/...", "distribute/coordinator/...", "distribute/internal/otherservice", "distribute/internal/proof", "distribute/multiworker/...", "distribute/parameterserver/...", "internal/benchcollective/..."}, "gRPC stays out of programs on one machine"},
	{"github.com/cockroachdb/pebble", []string{"distribute/tables/disk"}, "an embedded store makes a program larger by megabytes"},
	{"gorgonia.org/tensor", []string{"data/gorgonia"}, "it brings Arrow, flatbuffers and megabytes of code into every program"},
	{"gonum.org/v1/gonum", []string{"data/gonum", "keras/plot/...", "layers/initializers", "layers/quantizers"}, "matrices come in and go out through data/gonum"},
	{module + "data/gorgonia", []string{"examples/..."}, "a leaf that programs import"},
	{module + "data/gonum", []string{"examples/..."}, "a leaf that programs import"},
	{module + "distribute/tables/disk", []string{"cmd/...", "examples/...", "internal/benchps"}, "programs that want rows on disk import it for its effect"},
	{"github.com/ebitengine/purego", []string{"kernels/cuda/...", "kernels/pjrt/..."}, "purego makes a program dynamic"},
	{"github.com/NVIDIA/go-nvml", []string{"kernels/cuda/..."}, "go-nvml needs cgo"},
	{module + "keras/onnx", []string{"keras", "keras/onnx/...", "cmd/...", "examples/..."}, "files of models must not need the writer of ONNX"},
}

// cpuFloors is the same for the rooms of the compiler for CPUs, below kernels/cpu, which is above all of them: first
// the kernels, then what makes programs of programs, and steps of programs.
var cpuFloors = map[string]int{
	"choice":       1,
	"flush":        1,
	"isa":          1,
	"isa/untested": 2,
	"tile":         2,
	"amx":          2,
	"pool":         2,
	"micro":        3,
	"vec":          2,
	"quant":        3,
	"jit":          3,
	"gemm":         4,
	"block":        4,
	"conv":         5,
	"comm":         5,
	"geometry":     1,
	"scan":         1,
	"fuse":         5,
	"plan":         6,
}

// checkCPU returns what is wrong with pkg importing imported, both of kernels/cpu/internal, or "".
func checkCPU(pkg, imported string) string {
	const inside = "kernels/cpu/internal/"
	from, ok := strings.CutPrefix(pkg, inside)
	to, ok2 := strings.CutPrefix(imported, inside)
	if !ok || !ok2 {
		return ""
	}
	low, known := cpuFloors[from]
	high, known2 := cpuFloors[to]
	switch {
	case !known:
		return pkg + " has no row in the table of the CPU's rooms"
	case !known2:
		return imported + " has no row in the table of the CPU's rooms"
	case high >= low:
		return pkg + " imports " + imported + ", which is not on a lower floor of the CPU's rooms"
	}
	return ""
}

type restriction struct {
	imported string
	homes    []string
	why      string
}

// refuse returns what is wrong with pkg importing a package, or "".
func (r restriction) refuse(pkg, imported string) string {
	if imported != r.imported && !strings.HasPrefix(imported, r.imported+"/") {
		return ""
	}
	for _, home := range r.homes {
		below, all := strings.CutSuffix(home, "/...")
		if pkg == below || all && strings.HasPrefix(pkg, below+"/") {
			return ""
		}
	}
	return pkg + " imports " + imported + ", which only " + strings.Join(r.homes, ", ") + " may: " + r.why
}

func room(pkg string) (string, int) {
	for name := pkg; name != ""; {
		if floor, ok := floors[name]; ok {
			return name, floor
		}
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			break
		}
		name = name[:cut]
	}
	return "", 0
}

// check returns what is wrong with pkg importing imported, or "".
func check(pkg, imported string) string {
	from, low := room(pkg)
	to, high := room(imported)
	switch {
	case from == "":
		return pkg + " has no row in the table of rooms"
	case to == "":
		return imported + " has no row in the table of rooms"
	case from == to, strings.HasPrefix(imported, from+"/"):
		return ""
	case low == 1 && high == 1 && from != "internal": // kernels/ir stands alone
		return pkg + " imports " + imported + ": the program must not depend on anything"
	case low <= high && !strings.HasPrefix(imported, "internal"):
		return pkg + " imports " + imported + ", which is not on a lower floor"
	}
	return ""
}

func TestRooms(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		for _, imported := range words[1:] {
			for _, r := range restricted {
				if problem := r.refuse(pkg, imported); problem != "" {
					t.Error(problem)
				}
			}
			if !strings.HasPrefix(imported, module) {
				continue
			}
			for _, problem := range []string{check(pkg, strings.TrimPrefix(imported, module)), checkCPU(pkg, strings.TrimPrefix(imported, module))} {
				if problem != "" {
					t.Error(problem)
				}
			}
		}
	}
}

// The rule must be able to fail.
func TestRuleFails(t *testing.T) {
	for _, c := range [][2]string{
		{"layers", "losses"},
		{"kernels/cpu", "keras/ops"},
		{"keras/ops", "keras"},
		{"kernels/exec", "distribute"},
		{"layers", "keras"},
		{"unknown/room", "keras"},
		{"kernels/ir", "internal/philox"},
		{"kernels/ir/pass", "kernels/cpu"},
		{"kernels/ir/pass", "kernels/reference"},
	} {
		require.NotEmpty(t, check(c[0], c[1]), "%s importing %s must be refused", c[0], c[1])
	}
	for _, c := range [][2]string{
		{"keras", "layers"},
		{"distribute", "kernels/exec"},
		{"kernels/exec", "keras/ops"},
		{"layers", "layers/activations"},
		{"kernels/cpu", "kernels/cpu/internal/pool"},
		{"kernels/cpu", "kernels"},
		{"layers/initializers", "internal/philox"},
	} {
		require.Empty(t, check(c[0], c[1]))
	}
}

// So must the rule of the CPU's rooms.
func TestCPURuleFails(t *testing.T) {
	for _, c := range [][2]string{
		{"scan", "gemm"},
		{"scan", "fuse"},
		{"fuse", "plan"},
		{"geometry", "fuse"},
		{"comm", "plan"},
		{"block", "comm"},
		{"gemm", "conv"},
		{"vec", "pool"},
		{"unknown", "isa"},
		{"gemm", "unknown"},
	} {
		require.NotEmpty(t, checkCPU("kernels/cpu/internal/"+c[0], "kernels/cpu/internal/"+c[1]), "%s importing %s must be refused", c[0], c[1])
	}
	require.Empty(t, checkCPU("kernels/cpu/internal/conv", "kernels/cpu/internal/gemm"))
	require.Empty(t, checkCPU("kernels/cpu", "kernels/cpu/internal/gemm"))
}

// What is restricted is refused where it does not belong, and nowhere else.
func TestRestrictionsFail(t *testing.T) {
	refused := func(pkg, imported string) bool {
		return slices.ContainsFunc(restricted, func(r restriction) bool { return r.refuse(pkg, imported) != "" })
	}
	for _, c := range [][2]string{
		{"distribute", "google.golang.org/grpc"},
		{"distribute", "google.golang.org/grpc/codes"},
		{"keras", "google.golang.org/grpc"},
		{"kernels/cpu", "github.com/ebitengine/purego"},
		{"keras", "github.com/ebitengine/purego"},
		{"kernels", "github.com/NVIDIA/go-nvml/pkg/nvml"},
		{"keras/saving", module + "keras/onnx"},
		{"layers", module + "keras/onnx"},
		{"keras", "gorgonia.org/tensor"},
		{"data", "gorgonia.org/tensor"},
		{"data/datasets", "gorgonia.org/tensor"},
		{"data", "gonum.org/v1/gonum/mat"},
		{"keras", module + "data/gorgonia"},
	} {
		require.True(t, refused(c[0], c[1]), "%s importing %s must be refused", c[0], c[1])
	}
	for _, c := range [][2]string{
		{"distribute/collective/internal/transport", "google.golang.org/grpc"},
		{"kernels/pjrt", "github.com/ebitengine/purego"},
		{"kernels/cuda/nvml", "github.com/NVIDIA/go-nvml/pkg/nvml"},
		{"keras", module + "keras/onnx"},
		{"data/gorgonia", "gorgonia.org/tensor"},
		{"data/gonum", "gonum.org/v1/gonum/mat"},
		{"cmd/keras", module + "keras/onnx"},
		{"keras/saving", module + "keras/onnxruntime"},
	} {
		require.False(t, refused(c[0], c[1]), "%s may import %s", c[0], c[1])
	}
}
