package keras_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/vectors"
)

// inventoried are the packages whose exported structs TestDefaults compares, by the kind of their cases.
var inventoried = map[string]string{
	"layers": "../layers", "losses": "../losses", "metrics": "../metrics", "optimizers": "../optimizers", "schedules": "../optimizers/schedules", "callbacks": "../callbacks",
	"initializers": "../layers/initializers", "regularizers": "../layers/regularizers", "constraints": "../layers/constraints", "quantizers": "../layers/quantizers",
	"distillation": "distillation",
}

// withoutDefaults are exported structs that TestDefaults does not compare, and why.
var withoutDefaults = map[string]string{
	"layers.Arguments":      "a value that calls pass on",
	"layers.Attribute":      "a value that calls pass on",
	"layers.Base":           "is embedded in layers",
	"layers.BatchKeys":      "names of the parts of a batch, which a user of it gives",
	"layers.Builder":        "makes weights while a layer is built",
	"layers.CellRun":        "a value that cells pass on",
	"layers.ConstantTensor": "a value in a call",
	"layers.EllipsisType":   "a value in a call",
	"layers.HostArray":      "a value of the host stage",
	"layers.InputLayer":     "has no defaults: NewInput gives it all",
	"layers.KerasTensor":    "what NewInput and layers return",
	"layers.LabelledImages": "a batch of images",
	"layers.LoraOptions":    "arguments of EnableLora, compared with files of Keras in lora_test.go",
	"layers.Node":           "a place in a graph",
	"layers.Operand":        "a value in a call",
	"layers.Operation":      "a function of keras.ops in a graph, without configuration of its own",
	"layers.PlainTable":     "the table of a look-up, without configuration",
	"layers.Slice":          "a value in a call",
	"layers.WeightOptions":  "arguments of Builder.Weight",
	"layers.Wrapper":        "is embedded in layers",

	"losses.FuncLoss":    "Keras makes it of a function that is given",
	"metrics.Base":       "is embedded in metrics",
	"metrics.FuncMetric": "Keras makes it of a function that is given",

	"optimizers.Base":         "is embedded in optimizers",
	"optimizers.OptimizerMap": "a table that is given to MultiOptimizer",
	"optimizers.Options":      "is embedded in optimizers, and compared as a part of them",
	"optimizers.PathRule":     "a row of an OptimizerMap",
	"optimizers.Settings":     "what an optimizer of one's own tells its Base",
	"optimizers.Slot":         "a variable of an optimizer",
	"optimizers.Step":         "what an optimizer is given at a step",

	"callbacks.Base":       "is embedded in callbacks",
	"callbacks.List":       "what Fit makes of its callbacks",
	"callbacks.Logs":       "what callbacks are given",
	"callbacks.Params":     "what callbacks are given",
	"callbacks.Profile":    "what a trace of a step says",
	"callbacks.ProfileRow": "what a trace of a step says",
	"callbacks.Progbar":    "Keras's utils.Progbar, compared with its output in progbar_test.go",
	"callbacks.Progress":   "what callbacks are given",
	"callbacks.Trace":      "records times; Keras has no such callback",

	"quantizers.Calibrated":       "a quantized matrix",
	"quantizers.FakeQuantization": "a function of Keras with its arguments; it has no class there",
	"quantizers.Float8":           "a quantized matrix",
	"quantizers.Grouped":          "a quantized matrix",
	"quantizers.Statistics":       "what calibration has seen",
}

// exportedStructs lists the exported struct types of the package in a folder.
func exportedStructs(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, s := range general.Specs {
				spec := s.(*ast.TypeSpec)
				if _, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	require.NotEmpty(t, names, folder)
	return names
}

// TestDefaultsOfAllStructs: every exported struct of the inventoried packages is compared by TestDefaults, or
// withoutDefaults says why not.
func TestDefaultsOfAllStructs(t *testing.T) {
	compared := map[string]bool{}
	for _, c := range vectors.Load(t, "defaults").Cases {
		var d defaultCase
		c.DecodeExtra(t, &d)
		if notHere[c.Class] == "" {
			compared[d.Kind+"."+c.Class] = true
		}
	}
	found := map[string]bool{}
	for kind, folder := range inventoried {
		for _, name := range exportedStructs(t, folder) {
			name = kind + "." + name
			found[name] = true
			_, excused := withoutDefaults[name]
			if _, other := notHere[strings.TrimPrefix(name, kind+".")]; other {
				excused = true
			}
			assert.True(t, compared[name] != excused, "%s: compared %v, excused %v; add it to defaults.py and record again, or say in withoutDefaults why not", name, compared[name], excused)
		}
	}
	for name, why := range withoutDefaults {
		assert.True(t, found[name], "%s is excused, but there is no such struct", name)
		assert.NotEmpty(t, why, name)
	}
}
