package keras

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/saving"
)

// Save writes the whole model to a .keras file that Keras can open: the configuration, all weights, the compile
// configuration, and the optimizer's variables. With [AsFolder], path is a folder, whose name must not end in .keras.
//
// Before anything is written, the configuration is read back as by LoadModel. An error lists what would be refused or
// come out different: a type that is not registered, a field without a keras tag, a layer whose fields were changed
// after it was built.
//
// The file is written under a temporary name and renamed, so a crash leaves the previous file. The user-defined type of
// a model created by NewModel must be registered; see [RegisterModel]. SaveWeights writes the weights of any model.
// With several workers only the chief writes and none waits for another, so all or only some may call it. All must call
// it if the optimizer's state is sharded, and under a distribution over the hosts of a TPU.
func (m *Model) Save(path string, options ...SaveOption) error {
	var c fileConfig
	for _, o := range options {
		if o != nil {
			o.applySave(&c)
		}
	}
	return prefixed("Save", m.save(path, &c))
}

// SaveModel is Save without options, for callbacks.
func (m *Model) SaveModel(path string) error { return m.Save(path) }

func (m *Model) save(path string, c *fileConfig) error {
	ext := filepath.Ext(path)
	switch {
	case c.folder && ext == ".keras":
		return fmt.Errorf("%s: with AsFolder the path is that of a folder, which must not end in .keras", path)
	case !c.folder && ext != ".keras":
		return fmt.Errorf("the path %q must end in .keras; other files hold weights alone, see SaveWeights", path)
	case !m.isBuilt():
		return fmt.Errorf("model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	m.values.RLock() // layers may compute what they write from their weights
	defer m.values.RUnlock()
	contents, err := m.contents(c)
	if err != nil {
		return err
	}
	if !m.WritesFiles() {
		if m.readingMeets() { // what the chief writes is divided over all workers
			_, err := contents.WriteTo(io.Discard)
			return err
		}
		return nil
	}
	if c.folder {
		err = contents.WriteFolder(path)
	} else {
		err = atomicfile.Write(path, func(w io.Writer) error {
			_, err := contents.WriteTo(w)
			return err
		})
	}
	if err != nil && m.readingMeets() {
		m.failTogether(err) // the others wait to send their parts
	}
	return err
}

func (m *Model) contents(c *fileConfig) (*saving.Contents, error) {
	m.describing.Lock()
	defer m.describing.Unlock()
	document, err := m.fileDocument(!c.withoutCompile)
	if err != nil {
		return nil, err
	}
	objects := saving.Objects(m)
	if err := saving.CheckComplete(m, objects); err != nil {
		return nil, err
	}
	if err := m.checkReadable(document, objects); err != nil {
		return nil, err
	}
	if !c.withoutCompile {
		objects = append(objects, m.allOptimizers(objects)...)
	}
	weights, err := saving.Weights(objects)
	if err != nil {
		return nil, err
	}
	assets, err := saving.Assets(objects)
	if err != nil {
		return nil, err
	}
	return &saving.Contents{Config: document, Weights: weights, Assets: assets, Saved: time.Now()}, nil
}

// fileDocument returns the text of config.json.
func (m *Model) fileDocument(compiled bool) ([]byte, error) {
	document, err := m.object(m.policy.Name)
	if err == nil {
		err = finishDocument(document, compiled)
	}
	if err != nil {
		return nil, err
	}
	if compiled {
		o, err := m.compileObject()
		if err != nil {
			return nil, fmt.Errorf("what the model is compiled with cannot be written: %w, or save the model with keras.WithoutCompile()", err)
		}
		if o != nil {
			document["compile_config"] = o
		}
	}
	return config.Marshal(document)
}
