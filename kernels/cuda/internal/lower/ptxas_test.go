package lower_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// architectures are those that people have.
var architectures = []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}

// NVIDIA's assembler takes the kernels of the whole suite for each architecture, in few enough registers and without
// spilling any.
func TestAssembler(t *testing.T) {
	ptxas := os.Getenv("GOKERAS_PTXAS")
	if ptxas == "" {
		t.Skip("GOKERAS_PTXAS does not name NVIDIA's assembler ptxas (the Python package nvidia-cuda-nvcc-cu12 has one)")
	}
	var kernels []string
	seen := map[string]bool{}
	for i, c := range kernelstest.Cases() {
		plan, err := lower.Program(c.Program, lower.Options{})
		require.NoError(t, err, c.Name)
		for _, k := range strings.Split(strings.TrimPrefix(plan.Text, ptx.Header), ".visible .entry ")[1:] {
			_, body, _ := strings.Cut(k, "(")
			if seen[body] || testing.Short() && i%8 != 0 {
				continue
			}
			seen[body] = true
			kernels = append(kernels, fmt.Sprintf(".visible .entry k%d(%s", len(kernels), body))
		}
	}
	t.Logf("%d kernels", len(kernels))
	for n, architecture := range architectures {
		t.Run(architecture, func(t *testing.T) {
			// All kernels for the oldest one, every seventh, from another place on, for the others.
			var chosen []string
			for i, k := range kernels {
				if n == 0 || i%len(architectures) == n {
					chosen = append(chosen, k)
				}
			}
			for len(chosen) > 0 {
				batch := chosen[:min(400, len(chosen))]
				chosen = chosen[len(batch):]
				assemble(t, ptxas, architecture, ptx.Header+strings.Join(batch, ""))
			}
		})
	}
}

var (
	registers = regexp.MustCompile(`Used (\d+) registers`)
	spills    = regexp.MustCompile(`(\d+) bytes spill stores`)
)

func assemble(t *testing.T, ptxas, architecture, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernels.ptx")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	out, err := exec.Command(ptxas, "-v", "-arch="+architecture, "-o", file+".cubin", file).CombinedOutput()
	require.NoError(t, err, "%.2000s", out)
	for _, m := range spills.FindAllStringSubmatch(string(out), -1) {
		assert.Equal(t, "0", m[1], "bytes spilled")
	}
	for _, m := range registers.FindAllStringSubmatch(string(out), -1) {
		n, _ := strconv.Atoi(m[1])
		assert.LessOrEqual(t, n, 128, "registers")
	}
}

// Every op has a way to run on the device.
func TestEveryOp(t *testing.T) {
	for _, op := range ir.Ops() {
		assert.NotEmpty(t, lower.How(op), "%v", op)
	}
}
