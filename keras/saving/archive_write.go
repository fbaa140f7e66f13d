package saving

import (
	"archive/zip"
	"encoding/json"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// KerasVersion is the version of Keras whose formats are written.
const KerasVersion = "3.15.1"

// Contents are the contents of a model file.
type Contents struct {
	Config []byte
	// Weights writes the HDF5 file; it is called twice.
	Weights io.WriterTo
	// Assets are the contents of files by their paths below assets.
	Assets map[string][]byte
	// Saved is the date in the file.
	Saved time.Time
}

// Metadata returns the contents of metadata.json.
func (c *Contents) Metadata() ([]byte, error) {
	return json.Marshal(struct {
		Version string `json:"keras_version"`
		Date    string `json:"date_saved"`
	}{KerasVersion, c.Saved.Format("2006-01-02@15:04:05")})
}

// member is one file of an archive.
type member struct {
	name  string
	write func(io.Writer) error
	date  time.Time
}

func (c *Contents) members() ([]member, error) {
	metadata, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	fixed := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	text := func(name string, b []byte) member {
		return member{name, func(w io.Writer) error { _, err := w.Write(b); return err }, fixed}
	}
	list := []member{text(MetadataFile, metadata), text(ConfigFile, c.Config)}
	list = append(list, member{WeightsFile, func(w io.Writer) error { _, err := c.Weights.WriteTo(w); return err }, c.Saved})
	for _, name := range slices.Sorted(maps.Keys(c.Assets)) {
		list = append(list, text(path.Join("assets", name), c.Assets[name]))
	}
	return list, nil
}

// WriteTo writes a .keras archive as Keras does: members are stored without compression, with sizes and checksums
// before them.
func (c *Contents) WriteTo(w io.Writer) (int64, error) {
	list, err := c.members()
	if err != nil {
		return 0, err
	}
	count := &counter{w: w}
	archive := zip.NewWriter(count)
	for _, m := range list {
		sum := &counter{w: crc32.NewIEEE()}
		if err := m.write(sum); err != nil {
			return count.n, err
		}
		into, err := archive.CreateRaw(header(m, sum.n, sum.w.(interface{ Sum32() uint32 }).Sum32()))
		if err != nil {
			return count.n, err
		}
		if err := m.write(into); err != nil {
			return count.n, err
		}
	}
	err = archive.Close()
	return count.n, err
}

// header describes a stored member like Python's zipfile.
func header(m member, size int64, sum uint32) *zip.FileHeader {
	const unix, version, ownerOnly = 3, 20, 0o600
	t := m.date
	h := &zip.FileHeader{
		Name: m.name, Method: zip.Store, CRC32: sum, CompressedSize64: uint64(size), UncompressedSize64: uint64(size),
		CreatorVersion: unix<<8 | version, ReaderVersion: version, ExternalAttrs: ownerOnly << 16,
	}
	//lint:ignore SA1019 CreateRaw writes these two and not Modified
	h.ModifiedDate = uint16((t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day())
	//lint:ignore SA1019 see above
	h.ModifiedTime = uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2)
	return h
}

// counter counts the bytes written through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// WriteFolder writes the members into a folder, as Keras does with zipped=False. All are written to temporary files
// before any replaces an old one, so a full disk leaves the old model intact.
func (c *Contents) WriteFolder(folder string) error {
	list, err := c.members()
	if err != nil {
		return err
	}
	return writeInto(folder, list)
}

func writeInto(folder string, list []member) error {
	if len(list) == 0 {
		return nil
	}
	name := filepath.Join(folder, filepath.FromSlash(list[0].name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(name, func(w io.Writer) error {
		if err := list[0].write(w); err != nil {
			return err
		}
		return writeInto(folder, list[1:])
	})
}
