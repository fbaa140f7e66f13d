package keras

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/gokeras/gokeras/keras/saving"
)

// loadLegacy reads a whole-model HDF5 file.
func loadLegacy(r io.ReaderAt, size int64, c *fileConfig, options []Option) (*Model, error) {
	file, err := saving.OpenLegacy(r, size)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, errors.New("this HDF5 file holds weights alone; make the model and give them to it with LoadWeights")
	}
	config, err := file.Text("model_config")
	if err != nil {
		return nil, err
	}
	if config == "" {
		return nil, errors.New("this HDF5 file has no model_config, so it holds weights alone; make the model and give them to it with LoadWeights")
	}
	m, err := legacyModel([]byte(config), options)
	if err != nil {
		return nil, err
	}
	if !c.withoutCompile {
		if err := m.compileLegacy(file); err != nil {
			return nil, err
		}
	}
	if !m.isBuilt() {
		return nil, errors.New("the file does not tell the shape of the model's input; make the model, build it, and give the weights to it with LoadWeights")
	}
	if err := m.loadLegacyWeights(file, c); err != nil {
		return nil, err
	}
	return m, nil
}

// legacyModel makes the model from a configuration of Keras 1 or 2.
func legacyModel(config []byte, options []Option) (*Model, error) {
	if err := saving.CheckDepth(config); err != nil {
		return nil, err
	}
	modern, err := saving.ModernConfig(quoteNonFinite(config))
	if err != nil {
		return nil, err
	}
	return modelFromFile(modern, &fileConfig{withoutCompile: true}, options)
}

// compileLegacy compiles as the file says.
func (m *Model) compileLegacy(file *saving.Legacy) error {
	training, err := file.Text("training_config")
	if err != nil || training == "" {
		return err
	}
	if err := saving.CheckDepth([]byte(training)); err != nil {
		return err
	}
	modern, err := saving.ModernTraining(quoteNonFinite([]byte(training)))
	if err != nil {
		return err
	}
	return m.compileAs(json.RawMessage(modern))
}

// loadLegacyWeights loads the values of a legacy file into the model and its optimizer.
func (m *Model) loadLegacyWeights(file *saving.Legacy, c *fileConfig) error {
	m.values.Lock()
	defer m.values.Unlock()
	load := file.Load
	if c.byName {
		load = file.LoadByName
	}
	report, err := load(m, c.skipMismatch)
	if err != nil {
		return err
	}
	if m.compiled != nil && !c.byName {
		if err := file.LoadOptimizer(m.compiled.optimizer.Variables(), report); err != nil {
			return err
		}
	}
	m.resumeSteps(report)
	c.done(report)
	return nil
}
