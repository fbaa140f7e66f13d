package keras

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/saving"
)

// weightsForms lists the names of weights files, for messages.
func weightsForms() string {
	endings := append([]string{".weights.h5", ".weights.json (a sharded set)"}, saving.FormatEndings()...)
	last := len(endings) - 1
	return strings.Join(endings[:last], ", ") + " or " + endings[last]
}

// SaveWeights writes the weights to a file in the format given by its extension:
//
//   - .weights.h5: Keras's own format, with the optimizer's variables once there are any;
//   - .weights.json: the same in several files of at most 5 GiB, see [Model.SaveShardedWeights];
//   - .safetensors, .npz and whatever else [saving.FormatEndings] lists: one array for each variable, named by its path
//     ("dense/kernel").
//
// Files are written under a temporary name and renamed, so a crash leaves the old ones. With several workers only the
// chief writes. As with [Model.Save], all must call it if the optimizer's state is sharded, and under a distribution
// over the hosts of a TPU.
func (m *Model) SaveWeights(path string) error {
	return prefixed("SaveWeights", m.saveWeights(path, saving.DefaultShardSize))
}

// SaveShardedWeights writes the weights in Keras's format as a set of files of at most maxShardSize bytes each, with
// their index at path, which ends in .weights.json: model.weights.json has model_00000.weights.h5,
// model_00001.weights.h5, ... beside it. A set that replaces another is completely written before any old file is
// removed, so a crash leaves a complete set.
func (m *Model) SaveShardedWeights(path string, maxShardSize int64) error {
	if !strings.HasSuffix(path, ".weights.json") {
		return fmt.Errorf("keras: SaveShardedWeights: the path %q must end in .weights.json", path)
	}
	return prefixed("SaveShardedWeights", m.saveWeights(path, maxShardSize))
}

func (m *Model) saveWeights(path string, maxShardSize int64) error {
	if !m.isBuilt() {
		return fmt.Errorf("model %q has no weights; build it first, with InputShape, Build or Fit", m.Name())
	}
	write := atomicfile.Write
	if !m.WritesFiles() {
		if !m.readingMeets() {
			return nil
		}
		write = discard // what the chief writes is divided over all workers, which read it together
	}
	if err := saving.CheckComplete(m, m.fileObjects()); err != nil {
		return err
	}
	if !strings.HasSuffix(path, ".weights.h5") && slices.ContainsFunc(m.fileObjects(), saving.HasTable) {
		return fmt.Errorf("model %q has a dynamic embedding, whose rows only .weights.h5 and .keras files hold; received %q", m.Name(), path)
	}
	m.values.RLock()
	defer m.values.RUnlock()
	err := m.writeWeights(path, maxShardSize, write)
	if err != nil && m.readingMeets() {
		m.failTogether(err) // the others wait to send their parts
	}
	return err
}

// discard reads what a file would hold, but writes none.
func discard(_ string, contents func(io.Writer) error) error { return contents(io.Discard) }

func (m *Model) writeWeights(path string, maxShardSize int64, write func(path string, contents func(io.Writer) error) error) error {
	switch {
	case strings.HasSuffix(path, ".weights.json"):
		if !m.WritesFiles() {
			path = filepath.Join(os.DevNull, filepath.Base(path)) // existing files do not concern this process
		}
		return saving.WriteShards(path, m.fileObjects(), maxShardSize, write)
	case strings.HasSuffix(path, ".weights.h5"):
		w, err := saving.Weights(m.fileObjects())
		if err != nil {
			return err
		}
		return write(path, func(out io.Writer) error {
			_, err := w.WriteTo(out)
			return err
		})
	}
	if format, ok := saving.FormatOf(path); ok {
		return write(path, func(w io.Writer) error { return format.Write(w, m.Weights()) })
	}
	return fmt.Errorf("the extension of %q is not known; expected %s", path, weightsForms())
}

// fileObjects lists the objects that a weights file stores.
func (m *Model) fileObjects() []saving.Object {
	objects := saving.Objects(m)
	return append(objects, m.allOptimizers(objects)...)
}

// LoadWeights loads the model's weights from a file: a file that SaveWeights or Keras wrote (.weights.h5,
// .weights.json), a .keras file, a .h5 file of Keras 2, .safetensors or .npz. The optimizer's variables are restored if
// the file has them and the optimizer has been built, that is, after a step of training, as in Keras.
//
// Every weight must be in the file with its shape; otherwise nothing is changed, and the error lists everything that
// does not fit. [SkipMismatch] skips what does not fit, [ByName] reads the layers of a .h5 file by their names, and
// [Report] says what happened to each tensor.
func (m *Model) LoadWeights(path string, options ...LoadWeightsOption) error {
	var c fileConfig
	for _, o := range options {
		if o != nil {
			o.applyLoadWeights(&c)
		}
	}
	if err := m.loadWeights(path, &c); err != nil {
		return prefixed("LoadWeights", atomicfile.Named(path, err))
	}
	return nil
}

func (m *Model) loadWeights(path string, c *fileConfig) error {
	if !m.isBuilt() {
		return fmt.Errorf("model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	if strings.HasSuffix(path, ".json") {
		if err := c.refuseByName(); err != nil {
			return err
		}
		source, err := saving.OpenShards(path)
		if err != nil {
			return err
		}
		defer source.Close()
		return m.loadFrom(source, m.fileObjects(), c)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	format, known := saving.FormatOf(path)
	switch {
	case err != nil:
		return err
	case isHDF5(f):
		return m.loadH5(f, info.Size(), c)
	case c.byName:
		return c.refuseByName()
	case strings.HasSuffix(path, ".keras"):
		return m.loadArchived(path, c)
	case known:
		file, err := format.Open(f, info.Size())
		if err != nil {
			return err
		}
		return m.loadNamed(file, c)
	}
	return fmt.Errorf("this is not a weights file that can be read; expected %s, .keras or .h5", weightsForms())
}

// loadH5 reads an HDF5 file of Keras 3 or of Keras 2.
func (m *Model) loadH5(r io.ReaderAt, size int64, c *fileConfig) error {
	legacy, err := saving.OpenLegacy(r, size)
	if err != nil {
		return err
	}
	if legacy != nil {
		return m.loadLegacyWeights(legacy, c)
	}
	if err := c.refuseByName(); err != nil {
		return err
	}
	source, err := saving.OpenWeights(r, size)
	if err != nil {
		return err
	}
	return m.loadFrom(source, m.fileObjects(), c)
}

// loadArchived reads the weights of a .keras file.
func (m *Model) loadArchived(path string, c *fileConfig) error {
	archive, err := saving.OpenArchive(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	source, err := archivedWeights(archive)
	if err != nil {
		return err
	}
	return m.loadFrom(source, m.fileObjects(), c)
}
