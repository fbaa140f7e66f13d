// Command check runs a folder of cases made by harvest.py and groups the failures by cause.
//
//	go run ./internal/harvest/check [-only 'layer_LSTM*'] [-json results.json] FOLDER...
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/harvest"
)

type failure struct{ name, text string }

// report is what was found.
type report struct {
	results map[string]string // "" where a case passes
	causes  map[string][]failure
	types   map[string][]string
	counts  map[string][2]int // passed and failed, by kind and command
	excused int
}

func main() {
	only := flag.String("only", "*", "names of cases, as a pattern")
	out := flag.String("json", "", "file for all results")
	pack := flag.String("pack", "", "file for a packed selection of the cases that pass or have an exception; nothing is printed then")
	dtypes := flag.String("dtypes", "", "a file of dtypes.py, whose calls are checked, too")
	perClass := flag.Int("per-class", 4, "most cases of one class and command in the selection")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *pack != "" {
		err = harvest.PackSelection(*pack, *perClass, flag.Args()...)
	} else {
		err = run(*only, *out, flag.Args())
	}
	if *dtypes != "" {
		err = errors.Join(err, checkTypes(*dtypes))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(only, out string, folders []string) error {
	r := report{map[string]string{}, map[string][]failure{}, map[string][]string{}, map[string][2]int{}, 0}
	places, err := harvest.Names(folders...)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if ok, err := path.Match(only, name); err != nil {
			return err
		} else if !ok {
			continue
		}
		c, err := harvest.ReadCase(places[name])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		r.check(c)
	}
	r.print()
	if out != "" {
		text, err := json.MarshalIndent(r.results, "", " ")
		if err == nil {
			err = os.WriteFile(out, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if n := len(r.causes); n > 0 {
		return fmt.Errorf("%d causes of failures", n)
	}
	return nil
}

// checkTypes checks calls with operands of many types.
func checkTypes(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cases, err := harvest.TypeCases(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	failed := 0
	for _, c := range cases {
		if err := c.Verdict(context.Background()); err != nil {
			fmt.Printf("%s: %v\n", c.Name(), err)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d calls with operands of many types failed", failed, len(cases))
	}
	return nil
}

func (r *report) check(c *harvest.Case) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	notes, err := c.Check(ctx)
	key := c.Kind + " " + c.Command
	n := r.counts[key]
	reason := c.Excused()
	switch {
	case err == nil && reason != "":
		n[1]++
		r.results[c.Name] = "passes, so its exception can go: " + reason
		r.causes["an exception that is not needed"] = append(r.causes["an exception that is not needed"], failure{c.Name, r.results[c.Name]})
	case err == nil:
		n[0]++
		r.results[c.Name] = ""
	case reason != "":
		r.excused++
	default:
		n[1]++
		r.results[c.Name] = err.Error()
		r.causes[cause(c, err.Error())] = append(r.causes[cause(c, err.Error())], failure{c.Name, err.Error()})
	}
	r.counts[key] = n
	for _, note := range notes {
		r.types[c.Label+": "+note] = append(r.types[c.Label+": "+note], c.Name)
	}
}

var (
	places = regexp.MustCompile(`(layer "[^"]*"|layer \d+|config.json|keras|LoadModel|ReadModel|ModelFromJSON): `)
	values = regexp.MustCompile("[\"'`][^\"'`]*[\"'`]|[0-9]+(\\.[0-9]+)?")
	hidden = regexp.MustCompile("received the policy|lora_|quantiz")
)

// cause is the text that failures of one cause share.
func cause(c *harvest.Case, text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if strings.HasPrefix(text, "differs") {
		return fmt.Sprintf("%s: differs (%s)", c.Label, c.Command)
	}
	if hidden.MatchString(text) && (c.Kind == "layer" || c.Kind == "op") {
		return "refused: quantised layer or LoRA"
	}
	text = values.ReplaceAllString(places.ReplaceAllString(text, ""), "#")
	return text[:min(len(text), 200)]
}

func (r *report) print() {
	causes := make([]string, 0, len(r.causes))
	for text := range r.causes {
		causes = append(causes, text)
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(len(r.causes[b])-len(r.causes[a]), strings.Compare(a, b))
	})
	for _, text := range causes {
		first := r.causes[text][0]
		fmt.Printf("%5d  %s\n         %s\n         %.600s\n", len(r.causes[text]), text, first.name, first.text)
	}
	fmt.Println("\noutputs of another element type:")
	types := make([]string, 0, len(r.types))
	for text := range r.types {
		types = append(types, text)
	}
	slices.Sort(types)
	for _, text := range types {
		fmt.Printf("%5d  %s   %s\n", len(r.types[text]), text, r.types[text][0])
	}
	keys := make([]string, 0, len(r.counts))
	for key := range r.counts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var sum [2]int
	for _, key := range keys {
		n := r.counts[key]
		fmt.Printf("%-24s %5d passed %5d failed\n", key, n[0], n[1])
		sum[0], sum[1] = sum[0]+n[0], sum[1]+n[1]
	}
	fmt.Printf("%d passed, %d failed, %d failed for which Keras or the case is at fault\n", sum[0], sum[1], r.excused)
}
