package keras

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// LoadModel reads a whole model: a .keras file of Keras 3 or 2, the folder that Keras writes with zipped=False, or a
// whole-model .h5 file. The model is compiled as it was, and the optimizer continues where it stopped, unless
// [WithoutCompile] is given.
//
// Custom layers must be registered with layers.Register under the name in the file. Python code in a file (Lambda
// layers) is never run; such a file is refused. Either everything fits, or an error lists everything that does not;
// [Report] says what happened to each tensor. [Seed] and distribute.Scope apply to the new model.
func LoadModel(path string, options ...LoadModelOption) (*Model, error) {
	c, making := loadModelOptions(options)
	if path == "" {
		return nil, errors.New("keras: LoadModel: the path is empty; expected a file or folder that Keras saved")
	}
	m, err := loadModel(path, &c, making)
	if err != nil {
		return nil, prefixed("LoadModel", atomicfile.Named(path, err))
	}
	return m, nil
}

// ReadModel is [LoadModel] for a file that is held in memory or elsewhere, of the given size in bytes.
func ReadModel(r io.ReaderAt, size int64, options ...LoadModelOption) (*Model, error) {
	c, making := loadModelOptions(options)
	if r == nil {
		return nil, errors.New("keras: ReadModel: the reader is nil")
	}
	m, err := readModel(r, size, &c, making)
	if err != nil {
		return nil, prefixed("ReadModel", err)
	}
	return m, nil
}

func loadModel(path string, c *fileConfig, options []Option) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readModel(f, info.Size(), c, options)
	}
	archive, err := saving.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return archivedModel(archive, c, options)
}

func readModel(r io.ReaderAt, size int64, c *fileConfig, options []Option) (*Model, error) {
	if isHDF5(r) {
		return loadLegacy(r, size, c, options)
	}
	archive, err := saving.NewArchive(r, size)
	if err != nil {
		return nil, err
	}
	return archivedModel(archive, c, options)
}

func archivedModel(archive *saving.Archive, c *fileConfig, options []Option) (*Model, error) {
	config, err := archive.Text(saving.ConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s; expected a file or folder that Keras saved", saving.ConfigFile)
	}
	if err != nil {
		return nil, err
	}
	m, err := modelFromFile(config, c, options)
	if err != nil {
		return nil, err
	}
	source, err := archivedWeights(archive)
	if err != nil {
		return nil, err
	}
	objects := saving.Objects(m)
	if err := saving.LoadArrays(source, objects); err != nil {
		return nil, err
	}
	if err := saving.LoadAssets(archive, objects); err != nil {
		return nil, err
	}
	if err := m.loadFrom(source, append(objects, m.allOptimizers(objects)...), c); err != nil {
		return nil, err
	}
	return m, nil
}

// archivedWeights opens the weights in an archive.
func archivedWeights(archive *saving.Archive) (saving.Source, error) {
	r, size, err := archive.Member(saving.WeightsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the weights are missing: there is no %s", saving.WeightsFile)
	}
	if err != nil {
		return nil, err
	}
	return saving.OpenWeights(r, size)
}

// isHDF5 reports whether a file begins with the signature of HDF5.
func isHDF5(r io.ReaderAt) bool {
	head := make([]byte, 8)
	_, _ = r.ReadAt(head, 0)
	return string(head) == "\x89HDF\r\n\x1a\n"
}

// loadFrom loads the values of a file into variables. Steps wait meanwhile.
func (m *Model) loadFrom(source saving.Source, objects []saving.Object, c *fileConfig) error {
	m.values.Lock()
	defer m.values.Unlock()
	if err := saving.CheckComplete(m, objects); err != nil {
		return err
	}
	report, err := saving.Load(source, objects, c.skipMismatch)
	if err == nil {
		err = saving.LoadArrays(source, objects)
	}
	if err == nil && !m.isBuilt() && len(report.Unused) > 0 {
		err = fmt.Errorf("model %q has no weights yet, as the file does not say for which input, and the weights in it would be lost (%s, ...); give it an Input, or load its weights once it is built", m.Name(), report.Unused[0])
	}
	if err != nil {
		return err
	}
	m.resumeSteps(report)
	c.done(report)
	return m.resumeOptimizers(report)
}

// resumeOptimizers computes state of optimizers that is not in files.
func (m *Model) resumeOptimizers(report *LoadReport) error {
	if m.compiled == nil || len(report.Matched) == 0 {
		return nil
	}
	list := m.compiled.optimized
	if m.compiled.trainStep == nil {
		list = []optimized{{optimizer: m.compiled.optimizer}}
	}
	for _, o := range list {
		if scaled, ok := o.optimizer.(*optimizers.LossScaleOptimizer); ok && len(scaled.Variables()) > 0 {
			if err := scaled.Resume(); err != nil {
				return err
			}
		}
	}
	return nil
}

// resumeSteps makes the random numbers of training continue at the optimizer's step count, if that was loaded.
func (m *Model) resumeSteps(report *LoadReport) {
	if m.compiled == nil {
		return
	}
	loaded := map[string]bool{}
	for _, match := range report.Matched {
		loaded[match.Variable] = true
	}
	steps, found := 0.0, false
	for _, v := range m.compiled.optimizerVariables() {
		if v.Name() != "iteration" || !loaded[v.Path()] {
			continue
		}
		if a, err := v.Value(); err == nil {
			steps, found = max(steps, a.Element(0)), true // a wrapped optimizer counts, the wrapper does not
		}
	}
	if found {
		m.steps = uint32(min(max(steps, 0), math.MaxUint32))
	}
}

// fileModel has the parts of config.json that ModelFromJSON does not read.
type fileModel struct {
	Module    string          `json:"module"`
	ClassName string          `json:"class_name"`
	Config    json.RawMessage `json:"config"`
	Build     struct {
		Shape  json.RawMessage            `json:"input_shape"`
		Shapes map[string]json.RawMessage `json:"shapes_dict"`
	} `json:"build_config"`
	Compile json.RawMessage `json:"compile_config"`
}

// modelFromFile makes the model that config.json describes, built and compiled.
func modelFromFile(written []byte, c *fileConfig, options []Option) (*Model, error) {
	if err := saving.CheckDepth(written); err != nil {
		return nil, fmt.Errorf("%s: %w", saving.ConfigFile, err)
	}
	written = quoteNonFinite(written)
	if saving.IsLegacyConfig(written) {
		var err error
		if written, err = saving.ModernConfig(written); err != nil {
			return nil, fmt.Errorf("%s: %w", saving.ConfigFile, err)
		}
	}
	var o fileModel
	if err := config.Unmarshal(written, &o); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object with a model: %w", saving.ConfigFile, err)
	}
	var document map[string]json.RawMessage
	if err := config.Unmarshal(written, &document); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", saving.ConfigFile, err)
	}
	delete(document, "compile_config")
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	m, err := modelFromJSON(text, options)
	if err = prefixed("ModelFromJSON", err); err != nil {
		return nil, fmt.Errorf("%s: %w", saving.ConfigFile, err)
	}
	if err := m.buildAs(o); err != nil {
		return nil, err
	}
	if err := m.finishInside(!c.withoutCompile); err != nil {
		return nil, err
	}
	if c.withoutCompile || !isCompiled(o.Compile) {
		return m, nil
	}
	return m, m.compileAs(o.Compile)
}

// compileAs compiles as a file says and creates the optimizer's variables.
func (m *Model) compileAs(raw json.RawMessage) error {
	config, err := parseCompile(raw)
	if err == nil {
		err = m.Compile(config)
	}
	if err == nil && m.isBuilt() && m.compiled.trainStep == nil { // the optimizers of a step are known only after it was traced
		err = m.prepareOptimizer()
	}
	if err != nil {
		return fmt.Errorf("%w; load with WithoutCompile to leave out what the model was compiled with", err)
	}
	return nil
}

// finishInside builds nested models as the document says, if the outer model has not built them, and compiles them.
// Keras keeps their compile configuration and the state of their optimizers, although training the outer model uses
// neither.
func (m *Model) finishInside(compile bool) error {
	var err error
	layers.Walk(m, func(l layers.Layer) {
		inner, ok := l.(*Model)
		if !ok || inner.document == nil || err != nil {
			return
		}
		d := inner.document
		inner.document = nil
		if err = inner.buildInside(d.build); err == nil && compile && isCompiled(d.compile) {
			err = inner.compileAs(d.compile)
		}
		if err != nil {
			err = fmt.Errorf("the model %q inside: %w", inner.Name(), err)
		}
	})
	return err
}

// buildAs creates the weights of a model without known inputs, from the shapes that it was built with.
func (m *Model) buildAs(o fileModel) error {
	if m.isBuilt() {
		return nil
	}
	var c struct {
		Build json.RawMessage `json:"build_input_shape"`
	}
	_ = json.Unmarshal(o.Config, &c) // another form has been read as the model already
	for _, raw := range []json.RawMessage{c.Build, o.Build.Shape} {
		if shape, ok := parseShape(raw); ok {
			if err := m.Build(shape); err != nil {
				return err
			}
			return nil
		}
	}
	return nil
}

// parseShape reads [null, 3]. It returns false if there is no shape.
func parseShape(raw json.RawMessage) ([]int, bool) {
	var axes []*int
	if json.Unmarshal(raw, &axes) != nil || len(axes) == 0 {
		return nil, false
	}
	shape := make([]int, len(axes))
	for i, d := range axes {
		shape[i] = layers.Unknown
		if d != nil {
			shape[i] = *d
		}
	}
	return shape, true
}
