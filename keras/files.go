package keras

import (
	"errors"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
)

// LoadReport says what happened to every tensor of a file and every variable of a model; see [Report].
type LoadReport = saving.Report

// LoadModelOption is an option of [LoadModel] and [ReadModel]: [WithoutCompile], [Report], [Seed] or distribute.Scope.
type LoadModelOption interface {
	LoadScope() distribute.Strategy // of distribute.Scope; nil for other options
}

// LoadWeightsOption is an option of [Model.LoadWeights].
type LoadWeightsOption interface{ applyLoadWeights(*fileConfig) }

// SaveOption is an option of [Model.Save].
type SaveOption interface{ applySave(*fileConfig) }

// CompileOption is an option of [LoadModel], [ReadModel] and [Model.Save].
type CompileOption interface {
	LoadModelOption
	SaveOption
}

// ReportOption is an option of [LoadModel], [ReadModel] and [Model.LoadWeights].
type ReportOption interface {
	LoadModelOption
	LoadWeightsOption
}

type (
	saveOption        func(*fileConfig)
	loadWeightsOption func(*fileConfig)
	compileOption     struct{ loadModelOption }
	reportOption      struct{ loadModelOption }
)

func (o saveOption) applySave(c *fileConfig)               { o(c) }
func (o loadWeightsOption) applyLoadWeights(c *fileConfig) { o(c) }
func (o compileOption) applySave(c *fileConfig)            { o.loadModelOption(c) }
func (o reportOption) applyLoadWeights(c *fileConfig)      { o.loadModelOption(c) }

// loadModelOption is an option of LoadModel that is about the file.
type loadModelOption func(*fileConfig)

// LoadScope returns nil: the option is not about a strategy.
func (loadModelOption) LoadScope() distribute.Strategy { return nil }

func (o loadModelOption) applyLoadModel(c *fileConfig) { o(c) }

// fileConfig holds what the file options set.
type fileConfig struct {
	withoutCompile bool
	skipMismatch   bool
	byName         bool
	folder         bool
	report         *LoadReport
}

// WithoutCompile makes LoadModel ignore the compile configuration, and Save omit it: no optimizer, loss or metrics. It
// is Keras's compile=False.
func WithoutCompile() CompileOption {
	return compileOption{func(c *fileConfig) { c.withoutCompile = true }}
}

// SkipMismatch makes LoadWeights skip layers whose variables differ in number or shape from the file, like Keras's
// skip_mismatch=True. The variables of such a layer before the first that does not fit are loaded; the others keep
// their values. Of a .h5 file of Keras 2 all variables are loaded whose shapes fit. [Report] says which.
func SkipMismatch() LoadWeightsOption {
	return loadWeightsOption(func(c *fileConfig) { c.skipMismatch = true })
}

// ByName makes LoadWeights load the layers of a .h5 file of Keras 2 into those of the same names, wherever they are in
// the model, like Keras's by_name=True. Layers of the model that the file does not have keep their values; [Report]
// lists what is in the file alone as unused. The optimizer stays as it is. Other formats are errors, as in Keras.
func ByName() LoadWeightsOption {
	return loadWeightsOption(func(c *fileConfig) { c.byName = true })
}

// refuseByName is an error if the file is not one whose layers have names.
func (c *fileConfig) refuseByName() error {
	if c.byName {
		return errors.New("ByName is for .h5 files of Keras 2; the layers of other files have no names, and SkipMismatch leaves out what does not fit")
	}
	return nil
}

// Report makes LoadModel and LoadWeights report what was matched, skipped and unused.
func Report(into *LoadReport) ReportOption {
	return reportOption{func(c *fileConfig) { c.report = into }}
}

// AsFolder makes Save write a folder with the members of the archive as files, like Keras's zipped=False.
func AsFolder() SaveOption {
	return saveOption(func(c *fileConfig) { c.folder = true })
}

// loadModelOptions applies the options about the file, and returns those for creating the model.
func loadModelOptions(options []LoadModelOption) (c fileConfig, making []Option) {
	for _, o := range options {
		switch o := o.(type) {
		case nil:
		case interface{ applyLoadModel(*fileConfig) }:
			o.applyLoadModel(&c)
		case Option: // Seed and distribute.Scope
			making = append(making, o)
		default: // a scope of a type of the caller's
			making = append(making, distribute.Scope(o.LoadScope()))
		}
	}
	return c, making
}

func (c *fileConfig) done(report *LoadReport) {
	if c.report != nil && report != nil {
		*c.report = *report
	}
}
