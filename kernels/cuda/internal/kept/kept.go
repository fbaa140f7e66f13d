package kept

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Variable is the environment variable that names the folder; "off" means none.
const Variable = "GOKERAS_CUDA_CACHE"

// The maximum sizes of the folder and of one file, in bytes.
const (
	Limit     = 256 << 20
	fileLimit = 16 << 20
)

const (
	magic  = "gokeras kernel 1\n"
	ending = ".kernel"
	fresh  = ".new-" // prefix of the names of files being written
)

// Folder is where files are stored. A nil one stores nothing.
type Folder struct {
	path  string
	limit int64
}

// Open returns the folder that the environment names, or else one in the user's cache folder; nil for none. It creates
// nothing: Put does.
func Open() *Folder {
	path := os.Getenv(Variable)
	switch path {
	case "off":
		return nil
	case "":
		caches, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(caches, "gokeras", "cuda")
	}
	return At(path, Limit)
}

// At returns a folder with a limit in bytes.
func At(path string, limit int64) *Folder { return &Folder{path, limit} }

func (f *Folder) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.path, hex.EncodeToString(sum[:16])+ending)
}

func checksum(key string, data []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(key), key)
	h.Write(data)
	return h.Sum(nil)
}

// Get returns the data stored under a key, or nil if there is none or it is corrupt.
func (f *Folder) Get(key string) []byte {
	if f == nil {
		return nil
	}
	path := f.file(key)
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if !info.Mode().IsRegular() || info.Size() > fileLimit { // reading a pipe would never end
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	all, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
	if err != nil || len(all) > fileLimit {
		return nil
	}
	rest, ok := strings.CutPrefix(string(all), magic)
	if !ok || len(rest) < sha256.Size {
		return nil
	}
	data := []byte(rest[sha256.Size:])
	if string(checksum(key, data)) != rest[:sha256.Size] {
		return nil
	}
	if now := time.Now(); now.Sub(info.ModTime()) > time.Hour { // marks it as recently used, for Trim
		_ = os.Chtimes(path, now, now)
	}
	return data
}

// Put stores data under a key.
func (f *Folder) Put(key string, data []byte) error {
	if f == nil || len(data)+len(magic)+sha256.Size > fileLimit {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(f.path, fresh+"*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(append([]byte(magic), checksum(key, data)...), data...))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), f.file(key))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// Drop removes the file of a key.
func (f *Folder) Drop(key string) {
	if f != nil {
		_ = os.Remove(f.file(key))
	}
}

// Trim removes the least recently used files if the folder exceeds its limit, and the leftovers of processes that ended
// while writing.
func (f *Folder) Trim() error {
	if f == nil {
		return nil
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	var files []os.FileInfo
	var sum int64
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasSuffix(entry.Name(), ending):
			files = append(files, info)
			sum += info.Size()
		case strings.HasPrefix(entry.Name(), fresh) && time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(filepath.Join(f.path, entry.Name()))
		}
	}
	if sum <= f.limit {
		return nil
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, info := range files {
		if sum <= f.limit-f.limit/4 {
			break
		}
		if err := os.Remove(filepath.Join(f.path, info.Name())); err == nil {
			sum -= info.Size()
		}
	}
	return nil
}
