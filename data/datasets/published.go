package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// published is a file of a dataset, in the form in which its authors publish it.
type published struct {
	name   string
	size   int64
	sha256 string
}

// collection describes the files of one dataset.
type collection struct {
	folder  string // in the cache
	baseURL string
	files   []published
}

// Google's copies of the files that keras.datasets downloads.
const kerasFiles = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

// locate returns the folder that holds the files: the given one, or the cache, to which it downloads missing files on
// request.
func (s *collection) locate(c *config) (dir string, source Source, err error) {
	if c.embedded {
		return "", "", errors.New("nothing of this data set is embedded; name a folder with Directory, or use Download")
	}
	if c.directory != "" && c.download != nil {
		return "", "", errors.New("both Directory and Download were given; expected one source")
	}
	if c.directory != "" {
		return c.directory, FromDirectory, s.present(c.directory)
	}
	dir = c.cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", "", fmt.Errorf("no cache folder: %w; give CacheDirectory or Directory", err)
		}
		dir = filepath.Join(user, "gokeras", s.folder)
	}
	err = s.present(dir)
	if err == nil {
		return dir, FromCache, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if c.download == nil {
		return "", "", fmt.Errorf("%w; download it with the option Download, or name a folder with Directory", err)
	}
	return dir, FromDownload, s.fetch(c.download, c.baseURL, dir)
}

// present returns an error about the first file that a folder lacks.
func (s *collection) present(dir string) error {
	for _, f := range s.files {
		if _, err := os.Stat(filepath.Join(dir, f.name)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has no %s: %w", dir, f.name, fs.ErrNotExist)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// fetch downloads the files that a folder lacks. A file appears there only after its checksum was verified.
func (s *collection) fetch(ctx context.Context, baseURL, dir string) error {
	if baseURL == "" {
		baseURL = s.baseURL
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range s.files {
		path := filepath.Join(dir, f.name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		url := strings.TrimSuffix(baseURL, "/") + "/" + f.name
		if err := f.download(ctx, url, path); err != nil {
			return fmt.Errorf("download %s: %w", url, err)
		}
	}
	return nil
}

func (f *published) download(ctx context.Context, url, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "identity") // the checksum is of the file as it is
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", response.Status)
	}
	limit := f.size
	if limit == 0 {
		limit = maxFile
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		hash := sha256.New()
		n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(response.Body, limit+1))
		if err != nil {
			return err
		}
		if sum := hex.EncodeToString(hash.Sum(nil)); n > limit || sum != f.sha256 {
			return fmt.Errorf("got %d bytes with SHA-256 %s; expected a file with %s", n, sum, f.sha256)
		}
		return nil
	})
}

// maxFile bounds downloads of unknown length.
const maxFile = 1 << 28
