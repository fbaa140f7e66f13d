package saving

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/layers"
)

// Report says what happened to every tensor of a file and every variable of a model.
type Report struct {
	// Matched are the variables that got a new value.
	Matched []Match
	// Skipped are the variables that keep their value.
	Skipped []Skip
	// Unused are the tensors of the file that belong to no variable.
	Unused []string
}

// Match is a variable that got the value of a tensor of the file.
type Match struct {
	Tensor   string // its path or name in the file, "layers/dense/vars/0"
	Variable string // the variable's path, "dense/kernel"
}

// Skip is a variable, or an object with all of its variables, that was skipped.
type Skip struct {
	Tensor   string
	Variable string // "" for all variables of an object
	Reason   string
}

// String lists what was skipped or not used, one per line, and the number of further ones.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d matched, %d skipped, %d unused", len(r.Matched), len(r.Skipped), len(r.Unused))
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "\nskipped %s %s: %s", s.Tensor, s.Variable, s.Reason)
	}
	for _, u := range r.Unused {
		fmt.Fprintf(&b, "\nunused %s", u)
	}
	return b.String()
}

// assignment is a variable and the dataset that holds its value.
type assignment struct {
	variable *distribute.Variable
	dataset  *hdf5.Dataset
	tensor   string
}

// Load loads the values of a file into the variables of objects. If something does not fit, nothing is changed and the
// error lists all of it. With skipMismatch, what does not fit is skipped as in Keras: the variables of an object before
// the first that does not fit are loaded, the others are not.
func Load(source Source, objects []Object, skipMismatch bool) (*Report, error) {
	if source == nil {
		return nil, errors.New("the source is nil; open one, as with NewArchive")
	}
	objects, err := placed(objects, source.Datasets)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	report := &Report{}
	var todo []assignment
	var mistakes, missing []string
	used := map[string]bool{}
	for _, o := range objects {
		fit, mistake, err := match(source, o, used)
		if err != nil {
			mistake = err.Error()
		}
		switch {
		case mistake != "" && (skipMismatch || o.Lenient && err == nil):
			report.skip(o, len(fit), mistake)
		case mistake != "":
			mistakes = append(mistakes, mistake)
			missing = append(missing, o.Path)
			continue
		}
		todo = append(todo, fit...)
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("%w%s", Mismatch(mistakes), instead(source, missing))
	}
	all, err := source.Datasets()
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	for _, o := range objects {
		for _, name := range tableNames(o) {
			used[join(o.Path, name)] = true
		}
	}
	for _, path := range all {
		if !used[path] {
			report.Unused = append(report.Unused, path)
		}
	}
	slices.Sort(report.Unused)
	if err := assign(todo, report); err != nil {
		return report, err
	}
	return report, loaded(objects, todo)
}

// shownMistakes limits the length of an error.
const shownMistakes = 20

// Mismatch is the error for weights that do not fit. It says what is wrong with each.
func Mismatch(mistakes []string) error {
	more := ""
	if n := len(mistakes) - shownMistakes; n > 0 {
		mistakes, more = mistakes[:shownMistakes], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("the weights do not fit the model: %s%s", strings.Join(mistakes, "; "), more)
}

// skip records that the variables of an object from the given one on were skipped.
func (r *Report) skip(o Object, from int, reason string) {
	for i, v := range o.Variables[from:] {
		r.Skipped = append(r.Skipped, Skip{Tensor: tensorPath(o, from+i), Variable: v.Path(), Reason: reason})
	}
}

func tensorPath(o Object, i int) string { return fmt.Sprintf("%s/%d", join(o.Path, "vars"), i) }

// match finds the datasets of an object's variables, up to the first that does not fit. The second result says what is
// wrong with that one.
func match(source Source, o Object, used map[string]bool) ([]assignment, string, error) {
	if len(o.Variables) == 0 && !holdsNothing(o) {
		return nil, "", nil
	}
	datasets, err := source.Vars(o.Path)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", describe(o), err)
	}
	for i := range datasets {
		used[tensorPath(o, i)] = true
	}
	if len(o.Older) > 0 && len(datasets) == len(o.Older) {
		o.Variables = o.Older
	}
	if len(datasets) != len(o.Variables) {
		return nil, countMistake(o, len(datasets)), nil
	}
	var fit []assignment
	for i, v := range o.Variables {
		t, err := typeOf(datasets[i])
		if err == nil && !t.Shape.Equal(v.Type().Shape) {
			err = fmt.Errorf("shape mismatch: the variable has shape %s, the file holds shape %s", layers.ShapeString(v.Type().Shape), layers.ShapeString(t.Shape))
		}
		if err != nil {
			return fit, fmt.Sprintf("%s: variable %s (%s): %v", describe(o), v.Path(), tensorPath(o, i), err), nil
		}
		fit = append(fit, assignment{v, datasets[i], tensorPath(o, i)})
	}
	return fit, "", nil
}

// holdsNothing reports whether an object without variables stores nothing else either.
func holdsNothing(o Object) bool {
	_, keeps := o.Layer.(layers.ArrayKeeper)
	return o.Layer != nil && !keeps && !HasTable(o)
}

func countMistake(o Object, n int) string {
	names := make([]string, len(o.Variables))
	for i, v := range o.Variables {
		names[i] = v.Name()
	}
	if o.Lenient {
		return fmt.Sprintf("%s has %d variables, the file %d; it keeps the state it has", describe(o), len(names), n)
	}
	known := ""
	if len(names) > 0 {
		known = fmt.Sprintf(" %q", names)
	}
	text := fmt.Sprintf("%s expected %d variables%s, but the file has %d at %s", describe(o), len(names), known, n, join(o.Path, "vars"))
	if q, ok := o.Layer.(layers.Quantizable); ok && n == len(names)-1 && calibrated(layers.QuantizedBy(q)) {
		text += "; Keras 3.15 leaves the zeros of the modes gptq and awq out of files, and cannot open them itself: quantize here, with QuantizeWith"
	}
	return text
}

// calibrated reports whether a policy is one of the modes gptq and awq.
func calibrated(policy string) bool {
	return strings.HasPrefix(policy, "gptq/") || strings.HasPrefix(policy, "awq/")
}

func describe(o Object) string {
	if o.Layer == nil {
		return fmt.Sprintf("optimizer %q", o.Name)
	}
	return fmt.Sprintf("layer %q (%s)", layers.Name(o.Layer), layers.ClassName(o.Layer))
}

// loaded notifies the layers whose variables have new values, so that merged ones, whose values those contain, are
// updated once.
func loaded(objects []Object, todo []assignment) error {
	changed := map[*distribute.Variable]bool{}
	for _, a := range todo {
		changed[a.variable] = true
	}
	for _, o := range objects {
		if o.Layer == nil || !slices.ContainsFunc(o.Variables, func(v *distribute.Variable) bool { return changed[v] }) {
			continue
		}
		if err := layers.Loaded(o.Layer); err != nil {
			return fmt.Errorf("weights: %s: %w", describe(o), err)
		}
	}
	return nil
}

// assign reads the datasets into the variables.
func assign(todo []assignment, report *Report) error {
	var scratch []byte
	for _, a := range todo {
		if err := a.load(&scratch); err != nil {
			return fmt.Errorf("weights: %s for variable %s: %w", a.tensor, a.variable.Path(), err)
		}
		report.Matched = append(report.Matched, Match{a.tensor, a.variable.Path()})
	}
	return nil
}

// load reads the value, through scratch if it cannot be read in place.
func (a assignment) load(scratch *[]byte) error {
	t, err := typeOf(a.dataset)
	if err == nil && int64(t.Bytes()) != a.dataset.Size() {
		err = fmt.Errorf("the dataset of shape %v holds %d bytes; expected %d", t.Shape, a.dataset.Size(), t.Bytes())
	}
	if err != nil {
		return err
	}
	return a.variable.ReadValue(t.DType, a.dataset.ReadInto, scratch)
}
