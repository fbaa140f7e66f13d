package keras

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
)

// LoadReport tells what became of every tensor of a file and every variable of a model; see [Report].
type LoadReport = saving.Report

// LoadOption is an option of LoadModel and LoadWeights: one made for files, such as [SkipMismatch]. LoadModel also takes [Seed] and
// distribute.Scope.
type LoadOption = Option

// SaveOption is an option of [Model.Save].
type SaveOption interface{ applySave(*fileConfig) }

// FileOption is an option about files.
type FileOption struct {
	name string
	set  func(*fileConfig)
}

// fileConfig is what file options set.
type fileConfig struct {
	given          []string
	withoutCompile bool
	skipMismatch   bool
	folder         bool
	report         *LoadReport
}

// ScopeStrategy returns nil: the option is not about a strategy.
func (FileOption) ScopeStrategy() distribute.Strategy { return nil }

func (o FileOption) applySave(c *fileConfig) {
	c.given = append(c.given, o.name)
	o.set(c)
}

// WithoutCompile makes LoadModel leave out what the model was compiled with, and Save not write it: no optimizer, loss or metrics.
// It is Keras's compile=False.
func WithoutCompile() FileOption {
	return FileOption{"WithoutCompile", func(c *fileConfig) { c.withoutCompile = true }}
}

// SkipMismatch makes LoadWeights pass over layers whose number or shapes of variables differ from the file, as Keras's
// skip_mismatch=True does: the variables of such a layer before the first one that does not fit are loaded, the others keep their values. [Report]
// tells which.
func SkipMismatch() FileOption {
	return FileOption{"SkipMismatch", func(c *fileConfig) { c.skipMismatch = true }}
}

// Report makes LoadModel and LoadWeights tell what was matched, skipped and not used.
func Report(into *LoadReport) FileOption {
	return FileOption{"Report", func(c *fileConfig) { c.report = into }}
}

// AsFolder makes Save write a folder with the members of the archive as files, Keras's zipped=False.
func AsFolder() FileOption {
	return FileOption{"AsFolder", func(c *fileConfig) { c.folder = true }}
}

// fileOptions sets the file options apart from those that make a model, and refuses those that have no meaning for the function.
func fileOptions(what string, options []Option, allowed ...string) (fileConfig, []Option, error) {
	var c fileConfig
	var rest []Option
	for _, o := range options {
		if f, ok := o.(FileOption); ok {
			f.applySave(&c)
		} else if o != nil {
			rest = append(rest, o)
		}
	}
	return c, rest, c.check(what, allowed)
}

func (c *fileConfig) check(what string, allowed []string) error {
	for _, name := range c.given {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("keras: %s: the option %s has no meaning here; it takes %s", what, name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

func (c *fileConfig) done(report *LoadReport) {
	if c.report != nil && report != nil {
		*c.report = *report
	}
}

// withoutPath returns an error of the system without the path, which the message around it names already.
func withoutPath(path string, err error) error {
	if p, ok := err.(*fs.PathError); ok && p.Path == path {
		return p.Err
	}
	return err
}
