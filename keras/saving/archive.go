package saving

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The members of a .keras archive.
const (
	ConfigFile   = "config.json"
	MetadataFile = "metadata.json"
	WeightsFile  = "model.weights.h5"
	assetsFolder = "assets/"
)

// Limits on what is read from an archive.
const (
	maxText      = 256 << 20 // size in bytes of config.json and of an asset
	maxRatio     = 1032      // the highest ratio that deflate can reach
	largeMember  = 256 << 20 // larger compressed members must not expand more than plausibleRatio
	plausibleGap = 100
)

// Archive is a model file opened for reading: a .keras archive or a folder with the same members.
type Archive struct {
	r       io.ReaderAt // nil for a folder
	size    int64
	members map[string]*zip.File
	folder  string
	closers []io.Closer
}

// OpenArchive opens a .keras file, or the folder that Keras writes with zipped=False.
func OpenArchive(name string) (*Archive, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &Archive{folder: name}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a, err := NewArchive(f, info.Size())
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	a.closers = append(a.closers, f)
	return a, nil
}

// NewArchive opens a .keras file that is held in memory or elsewhere, of the given size in bytes.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	if r == nil {
		return nil, errors.New("the reader is nil")
	}
	a := &Archive{r: r, size: size, members: map[string]*zip.File{}}
	return a, a.list()
}

// list reads the directory of the archive and refuses names that no legitimate archive has.
func (a *Archive) list() error {
	r, err := zip.NewReader(a.r, a.size)
	if errors.Is(err, zip.ErrFormat) {
		return a.explain()
	}
	if err != nil {
		return fmt.Errorf("zip archive: %w", err)
	}
	for _, m := range r.File {
		if !fs.ValidPath(strings.TrimSuffix(m.Name, "/")) || strings.Contains(m.Name, `\`) || strings.Contains(m.Name, ":") {
			return fmt.Errorf("zip archive: member %q has an unsafe path, one that leads outside of the archive; the file is refused", m.Name)
		}
		if a.members[m.Name] != nil {
			return fmt.Errorf("zip archive: two members are named %q", m.Name)
		}
		a.members[m.Name] = m
	}
	return nil
}

// explain says what a file that is not a zip archive may be.
func (a *Archive) explain() error {
	head := make([]byte, 4)
	_, _ = a.r.ReadAt(head, 0)
	if string(head) == "PK\x03\x04" {
		return errors.New("zip archive: truncated or corrupt: it begins as one but its directory at the end is missing")
	}
	return errors.New("not a zip archive; a .keras file is one with config.json and model.weights.h5 in it")
}

// Close closes the files.
func (a *Archive) Close() error {
	var err error
	for _, c := range a.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Text reads a whole member, such as config.json. Errors of a missing one wrap fs.ErrNotExist.
func (a *Archive) Text(name string) ([]byte, error) {
	r, size, err := a.Member(name)
	if err != nil {
		return nil, err
	}
	if size > maxText {
		return nil, fmt.Errorf("%s has %d bytes; expected at most %d", name, size, maxText)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Member opens a member of any size and verifies its checksum. A stored member is read from the file on demand; a
// compressed one is expanded in memory.
func (a *Archive) Member(name string) (io.ReaderAt, int64, error) {
	if a.members == nil {
		return a.folderMember(name)
	}
	m := a.members[name]
	if m == nil {
		return nil, 0, fmt.Errorf("the archive has no member %q: %w", name, fs.ErrNotExist)
	}
	r, size, err := a.open(m)
	if err != nil {
		return nil, 0, fmt.Errorf("zip archive: member %q: %w", name, err)
	}
	return r, size, nil
}

func (a *Archive) folderMember(name string) (io.ReaderAt, int64, error) {
	f, err := os.Open(filepath.Join(a.folder, filepath.FromSlash(name)))
	if err != nil {
		return nil, 0, err
	}
	a.closers = append(a.closers, f)
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (a *Archive) open(m *zip.File) (io.ReaderAt, int64, error) {
	offset, err := m.DataOffset()
	if err != nil {
		return nil, 0, fmt.Errorf("corrupt: %w", err)
	}
	if m.CompressedSize64 > uint64(a.size) || offset > a.size-int64(m.CompressedSize64) {
		return nil, 0, fmt.Errorf("truncated or corrupt: the directory says that it has %d bytes, the archive has %d", m.CompressedSize64, a.size)
	}
	switch m.Method {
	case zip.Store:
		if m.UncompressedSize64 != m.CompressedSize64 {
			return nil, 0, fmt.Errorf("corrupt: the sizes %d and %d of a stored member differ", m.CompressedSize64, m.UncompressedSize64)
		}
		r := io.NewSectionReader(a.r, offset, int64(m.CompressedSize64))
		return r, r.Size(), verify(r, m.CRC32)
	case zip.Deflate:
		return expand(m)
	}
	return nil, 0, fmt.Errorf("compression method %d is not known; expected stored or deflated", m.Method)
}

// verify compares the checksum of all bytes.
func verify(r *io.SectionReader, want uint32) error {
	h := crc32.NewIEEE()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, make([]byte, 1<<18)); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if h.Sum32() != want {
		return fmt.Errorf("corrupt: checksum %08x; expected %08x", h.Sum32(), want)
	}
	return nil
}

// expand reads a compressed member whose declared size is possible and plausible.
func expand(m *zip.File) (io.ReaderAt, int64, error) {
	size, stored := m.UncompressedSize64, m.CompressedSize64
	if size > maxRatio*(stored+64) || size > largeMember && size > plausibleGap*stored {
		return nil, 0, fmt.Errorf("too large: %d bytes are said to be compressed into %d; refused as a decompression bomb", size, stored)
	}
	r, err := m.Open()
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	out := make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, 0, fmt.Errorf("corrupt: %w", err)
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF { // the checksum is compared at the end
		return nil, 0, fmt.Errorf("corrupt: more bytes than the directory says, or a wrong checksum (%v)", err)
	}
	return bytes.NewReader(out), int64(size), nil
}

// Assets lists the members below assets, without that prefix.
func (a *Archive) Assets() ([]string, error) {
	var out []string
	if a.members != nil {
		for name := range a.members {
			if rest, ok := strings.CutPrefix(name, assetsFolder); ok && rest != "" && !strings.HasSuffix(rest, "/") {
				out = append(out, rest)
			}
		}
		return out, nil
	}
	root := filepath.Join(a.folder, "assets")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rest, _ := filepath.Rel(root, name)
			out = append(out, filepath.ToSlash(rest))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return out, err
}

// Asset reads the file of a path below assets.
func (a *Archive) Asset(name string) ([]byte, error) { return a.Text(path.Join("assets", name)) }
