package saving_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/keras/saving"
)

func contents() *saving.Contents {
	return &saving.Contents{Config: []byte(`{}`), Weights: hdf5.NewWriter(), Assets: map[string][]byte{"layers/look_up/vocabulary.txt": []byte("a\nb\n")}, Saved: time.Date(2026, 11, 21, 14, 2, 8, 0, time.UTC)}
}

// The members are those of Keras's own files: order, method, flags, versions, attributes and dates.
func TestArchiveIsAsKerasWritesIt(t *testing.T) {
	var file bytes.Buffer
	_, err := contents().WriteTo(&file)
	require.NoError(t, err)
	r, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	require.NoError(t, err)
	var names []string
	for _, m := range r.File {
		names = append(names, m.Name)
		require.Equal(t, zip.Store, m.Method)
		require.Zero(t, m.Flags)
		require.EqualValues(t, 3<<8|20, m.CreatorVersion)
		require.EqualValues(t, 20, m.ReaderVersion)
		require.EqualValues(t, 0x1800000, m.ExternalAttrs)
		if m.Name == saving.WeightsFile {
			require.Equal(t, time.Date(2026, 11, 21, 14, 2, 8, 0, time.UTC), m.ModTime().UTC())
		} else {
			require.Equal(t, 1980, m.ModTime().Year())
		}
		content, err := m.Open()
		require.NoError(t, err)
		_, err = io.ReadAll(content) // verifies the checksum
		require.NoError(t, err)
	}
	require.Equal(t, []string{"metadata.json", "config.json", "model.weights.h5", "assets/layers/look_up/vocabulary.txt"}, names)
	metadata, err := contents().Metadata()
	require.NoError(t, err)
	require.JSONEq(t, `{"keras_version": "3.15.1", "date_saved": "2026-11-21@14:02:08"}`, string(metadata))
}

func TestArchiveAndFolderGiveTheSame(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.keras")
	var b bytes.Buffer
	_, err := contents().WriteTo(&b)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o666))
	require.NoError(t, contents().WriteFolder(filepath.Join(dir, "m")))
	for _, path := range []string{file, filepath.Join(dir, "m")} {
		a, err := saving.OpenArchive(path)
		require.NoError(t, err)
		assets, err := a.Assets()
		require.NoError(t, err)
		require.Equal(t, []string{"layers/look_up/vocabulary.txt"}, assets)
		text, err := a.Asset(assets[0])
		require.NoError(t, err)
		require.Equal(t, "a\nb\n", string(text))
		_, err = a.Text("absent")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, a.Close())
	}
}

// archive writes members unchanged.
func archive(t *testing.T, headers ...*zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, h := range headers {
		into, err := w.CreateRaw(h)
		require.NoError(t, err)
		_, err = into.Write([]byte(h.Comment))
		require.NoError(t, err)
		h.Comment = ""
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func deflated(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 9)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, n))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// Archives that no legitimate program writes are refused when they are opened, or when the member is.
func TestHostileArchives(t *testing.T) {
	bomb := deflated(t, 1<<20)
	for name, c := range map[string]struct {
		header *zip.FileHeader
		want   string
	}{
		"parent":         {&zip.FileHeader{Name: "../x"}, "unsafe path"},
		"hidden parent":  {&zip.FileHeader{Name: "assets/../../x"}, "unsafe path"},
		"absolute":       {&zip.FileHeader{Name: "/etc/x"}, "unsafe path"},
		"drive":          {&zip.FileHeader{Name: `C:\x`}, "unsafe path"},
		"backslash":      {&zip.FileHeader{Name: `assets\..\x`}, "unsafe path"},
		"4 GB stored":    {&zip.FileHeader{Name: "config.json", Comment: "x", CompressedSize64: 1, UncompressedSize64: 1 << 32}, "sizes"},
		"past the end":   {&zip.FileHeader{Name: "config.json", Comment: "x", CompressedSize64: 1 << 33, UncompressedSize64: 1 << 33}, "truncated"},
		"4 GB deflated":  {&zip.FileHeader{Name: "config.json", Method: zip.Deflate, Comment: bomb, CompressedSize64: uint64(len(bomb)), UncompressedSize64: 1 << 32}, "too large"},
		"more than said": {&zip.FileHeader{Name: "config.json", Method: zip.Deflate, Comment: bomb, CompressedSize64: uint64(len(bomb)), UncompressedSize64: 5}, "corrupt"},
		"wrong checksum": {&zip.FileHeader{Name: "config.json", Comment: "x", CompressedSize64: 1, UncompressedSize64: 1, CRC32: 7}, "checksum"},
		"method":         {&zip.FileHeader{Name: "config.json", Method: 99, Comment: "x", CompressedSize64: 1, UncompressedSize64: 1}, "method 99"},
	} {
		t.Run(name, func(t *testing.T) {
			file := archive(t, c.header)
			a, err := saving.NewArchive(bytes.NewReader(file), int64(len(file)))
			if err == nil {
				_, err = a.Text("config.json")
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	file := archive(t, &zip.FileHeader{Name: "config.json"}, &zip.FileHeader{Name: "config.json"})
	_, err := saving.NewArchive(bytes.NewReader(file), int64(len(file)))
	require.ErrorContains(t, err, "two members")
	_, err = saving.NewArchive(strings.NewReader("hello"), 5)
	require.ErrorContains(t, err, "not a zip archive")
	_, err = saving.NewArchive(bytes.NewReader(file[:40]), 40)
	require.ErrorContains(t, err, "truncated")
	binary.LittleEndian.PutUint16(file[len(file)-12:], 60000) // says that there are many members
	_, err = saving.NewArchive(bytes.NewReader(file), int64(len(file)))
	require.Error(t, err)
}

func TestCheckDepth(t *testing.T) {
	require.NoError(t, saving.CheckDepth([]byte(`{"a":"[[[[[\"[[[["}`)))
	require.NoError(t, saving.CheckDepth([]byte(strings.Repeat("[", 256))))
	require.ErrorContains(t, saving.CheckDepth([]byte(strings.Repeat("[", 257))), "deep")
	require.ErrorContains(t, saving.CheckDepth([]byte(strings.Repeat(`{"a":`, 1000000))), "deep")
}

// A writer that fails in the middle leaves the old file intact.
func TestFailedWriteIsNoFile(t *testing.T) {
	c := contents()
	c.Weights = failing{}
	dir := filepath.Join(t.TempDir(), "m")
	require.Error(t, c.WriteFolder(dir))
	_, err := os.Stat(filepath.Join(dir, saving.WeightsFile))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = c.WriteTo(io.Discard)
	require.Error(t, err)
}

type failing struct{}

func (failing) WriteTo(io.Writer) (int64, error) { return 0, errors.New("no space") }
