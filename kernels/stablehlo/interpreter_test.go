package stablehlo_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// interpreted is what StableHLO's own interpreter makes of a module.
type interpreted struct {
	Outputs []struct {
		Shape []int
		Data  string
	}
	Error string
}

// attribute writes a value as MLIR does.
func attribute(v reference.Value) string {
	text, d := hex.EncodeToString(v.Bytes()), v.Type.DType
	literal := `"0x` + strings.ToUpper(text) + `"`
	switch {
	case v.Type.Shape.Size() == 0:
		literal = ""
	case d == ir.Bool:
		flat := make([]string, 0, len(v.I))
		for _, b := range v.Bytes() {
			flat = append(flat, fmt.Sprint(b != 0))
		}
		literal = nested(flat, v.Type.Shape)
	}
	var shape strings.Builder
	for _, n := range v.Type.Shape {
		fmt.Fprintf(&shape, "%dx", n)
	}
	return fmt.Sprintf("dense<%s> : tensor<%s%s>", literal, shape.String(), d.StableHLO())
}

// nested writes elements in brackets, one pair for each axis.
func nested(flat []string, shape ir.Shape) string {
	if len(shape) == 0 {
		return flat[0]
	}
	each := len(flat) / shape[0]
	rows := make([]string, shape[0])
	for i := range rows {
		rows[i] = nested(flat[i*each:(i+1)*each], shape[1:])
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

// interpretable are cases whose types NumPy has and whose arrays are not large for a slow interpreter.
func interpretable(c kernelstest.Case) bool {
	size := 0
	fits := func(v ir.Value) bool {
		t := c.Program.Type(v)
		size += t.Shape.Size()
		return t.DType != ir.BFloat16
	}
	for _, in := range c.Program.Inputs {
		fits(in.Value)
	}
	for _, out := range c.Program.Outputs {
		if !fits(out.Value) {
			return false
		}
	}
	return size <= 4096
}

// StableHLO's own interpreter, which is that of its specification, gives the results of our reference for a case of
// each op: a third opinion beside the plugins of package pjrt.
func TestInterpreter(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs jaxlib: set GOKERAS_PYTHON to a Python that has it")
	}
	var chosen []kernelstest.Case
	seen := map[ir.Op]int{}
	for _, c := range kernelstest.Selected() {
		if interpretable(c) && seen[c.Op] == 0 { // a case takes a process of its own
			chosen = append(chosen, c)
			seen[c.Op]++
		}
	}
	compared, left := interpret(t, python, chosen)
	t.Logf("%d ops compared; left out: %v", len(compared), left)
	require.Greater(t, len(compared), 90)
}

// The interpreter gives the results of our reference for random programs too. INTERPRETER_PROGRAMS is another number of
// them.
func TestInterpreterOnRandomPrograms(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs jaxlib: set GOKERAS_PYTHON to a Python that has it")
	}
	n := 40
	if text := os.Getenv("INTERPRETER_PROGRAMS"); text != "" {
		fmt.Sscan(text, &n)
	}
	var chosen []kernelstest.Case
	for seed := uint64(0); len(chosen) < n; seed++ {
		p, inputs := kernelstest.RandomProgram(seed)
		c := kernelstest.Case{Name: p.Name, Program: p, Inputs: inputs, Units: 1 << 13, Whole: true}
		if interpretable(c) {
			chosen = append(chosen, c)
		}
	}
	compared, left := interpret(t, python, chosen)
	require.Greater(t, len(compared), n*3/4, "left out: %v", left)
}

// interpret compares what the interpreter makes of cases with the reference's results, and counts by names. Cases with
// ops of CHLO, which are none of StableHLO's own, are left out.
func interpret(t *testing.T, python string, chosen []kernelstest.Case) (compared, left map[string]int) {
	t.Helper()
	var cases []kernelstest.Case
	var texts []string
	var input bytes.Buffer
	flag := reference.Value{Type: stablehlo.FlagType, I: make([]int64, 3)}
	for _, c := range chosen {
		m, err := stablehlo.Lower(c.Program, stablehlo.Options{})
		require.NoError(t, err)
		inputs := make([]string, 0, len(c.Inputs)+1)
		for _, v := range append(slices.Clone(c.Inputs), flag) {
			inputs = append(inputs, attribute(v))
		}
		line, err := json.Marshal(map[string]any{"text": m.Text, "inputs": inputs})
		require.NoError(t, err)
		input.Write(append(line, '\n'))
		cases, texts = append(cases, c), append(texts, m.Text)
	}
	command := exec.CommandContext(t.Context(), python, "testdata/interpret.py")
	command.Stdin, command.Stderr = &input, os.Stderr
	output, err := command.Output()
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 64<<20)
	compared, left = map[string]int{}, map[string]int{}
	for k, c := range cases {
		require.True(t, lines.Scan(), "the interpreter ended before %s", c.Name)
		var got interpreted
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
		if got.Error != "" { // ops of CHLO are none of StableHLO's own
			assert.Contains(t, texts[k], "chlo.", "%s: %s", c.Name, got.Error)
			left[c.Name]++
			continue
		}
		want, err := reference.Run(c.Program, c.Inputs)
		require.NoError(t, err)
		for i, w := range want {
			data, err := hex.DecodeString(got.Outputs[i].Data)
			require.NoError(t, err)
			require.True(t, slices.Equal(w.Type.Shape, got.Outputs[i].Shape), c.Name)
			v, err := reference.FromBytes(w.Type, data)
			require.NoError(t, err, c.Name)
			assert.NoError(t, kernelstest.Compare(v, w, c.Units, c.Whole), "%s: output %d", c.Name, i)
		}
		compared[c.Name]++
	}
	return compared, left
}
