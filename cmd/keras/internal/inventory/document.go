package inventory

import (
	"fmt"
	"strings"
)

// titles are the headings of the modules, in their order.
var titles = []struct{ module, title string }{
	{"", "keras"}, {"models", "keras.models"}, {"layers", "keras.layers"}, {"losses", "keras.losses"}, {"metrics", "keras.metrics"},
	{"optimizers", "keras.optimizers"}, {"optimizers.schedules", "keras.optimizers.schedules"}, {"callbacks", "keras.callbacks"},
	{"initializers", "keras.initializers"}, {"regularizers", "keras.regularizers"}, {"constraints", "keras.constraints"},
	{"activations", "keras.activations"}, {"ops", "keras.ops"}, {"ops.image", "keras.ops.image"}, {"random", "keras.random"},
	{"utils", "keras.utils"}, {"utils.bounding_boxes", "keras.utils.bounding_boxes"}, {"preprocessing.image", "keras.preprocessing.image"}, {"preprocessing.sequence", "keras.preprocessing.sequence"},
	{"datasets", "keras.datasets"}, {"saving", "keras.saving"}, {"export", "keras.export"}, {"dtype_policies", "keras.dtype_policies"},
	{"config", "keras.config"}, {"tree", "keras.tree"}, {"distribution", "keras.distribution"}, {"quantizers", "keras.quantizers"},
	{"applications", "keras.applications"}, {"applications.imagenet_utils", "keras.applications.imagenet_utils"}, {"wrappers", "keras.wrappers"}, {"visualization", "keras.visualization"}, {"distillation", "keras.distillation"},
}

// Document returns the text of docs/keras.md.
func Document(rows, members []Row) string {
	var b strings.Builder
	b.WriteString("# Keras, symbol by symbol\n\n" +
		"Every public symbol of Keras 3.15.1 with its counterpart; then the methods and properties of its main classes, with the\n" +
		"arguments of those of models. This page is generated from the registries and the source; `go test\n" +
		"./cmd/keras/internal/inventory -update` regenerates it, and `make test` fails if it is out of date. For strategies see\n" +
		"[distribute.md](distribute.md), for files [files.md](files.md).\n\n" +
		"A name in quotes is a string, as in `Activation: \"relu\"`. If the difference is empty, behaviour and defaults are those of Keras.\n\n" +
		Summary(rows))
	for _, t := range titles {
		section(&b, t.title, rowsOf(rows, t.module))
	}
	for _, class := range []string{"Model", "Layer", "Optimizer", "Metric", "Callback"} {
		section(&b, "Methods, properties and arguments of "+class, rowsOf(members, class))
	}
	return b.String()
}

func rowsOf(rows []Row, module string) (part []Row) {
	for _, r := range rows {
		if r.Module == module {
			part = append(part, r)
		}
	}
	return part
}

func section(b *strings.Builder, title string, rows []Row) {
	there := 0
	for _, r := range rows {
		if r.Ours != "" {
			there++
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if there == 0 && !explained(rows) {
		fmt.Fprintf(b, "Nothing yet: %s.\n", joinNames(rows))
		return
	}
	b.WriteString("| Keras | here | state | difference |\n|---|---|---|---|\n")
	for _, r := range rows {
		state, ours := "yes", "`"+strings.ReplaceAll(r.Ours, ", ", "`, `")+"`"
		if r.Ours == "" {
			state, ours = "no", ""
		}
		name := "`" + r.Name + "`"
		if r.AliasOf != "" {
			name += " = `" + r.AliasOf + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, ours, state, r.Difference)
	}
}

func explained(rows []Row) bool {
	for _, r := range rows {
		if r.Difference != "" {
			return true
		}
	}
	return false
}

func joinNames(rows []Row) string {
	var names []string
	for _, r := range rows {
		names = append(names, "`"+r.Name+"`")
	}
	return strings.Join(names, ", ")
}

// Summary returns the table of how much of each module is implemented, which is also in the README.
func Summary(rows []Row) string {
	var b strings.Builder
	b.WriteString("| module of Keras | symbols | here |\n|---|---|---|\n")
	for _, t := range titles {
		part := rowsOf(rows, t.module)
		there := 0
		for _, r := range part {
			if r.Ours != "" {
				there++
			}
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d |\n", t.title, len(part), there)
	}
	return b.String()
}
