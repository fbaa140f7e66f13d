package applications

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/internal/download"
)

// DefaultBaseURL is the host of the files published for Keras.
const DefaultBaseURL = "https://storage.googleapis.com"

// Files says where to look for the files published for Keras, and whether they may be downloaded. The zero value looks
// in Keras's cache and downloads nothing.
type Files struct {
	CacheDir string          // "" is the folder models in $KERAS_HOME or, without that variable, in ~/.keras
	Download bool            // download missing files, and files whose checksum differs from the published one, into the cache
	BaseURL  string          // of a mirror; "" is DefaultBaseURL
	Context  context.Context // cancels a download; nil is context.Background()
}

// published is a file published for Keras.
type published struct {
	name string // in the cache
	path string // below DefaultBaseURL
	hash string // MD5 or SHA-256, told apart by the length; "" if none is published
}

// tfKernels returns a file of weights that is named by the usual pattern. hashes are those of the files with and
// without top.
func tfKernels(model, folder string, noTop bool, hashes [2]string) published {
	name, hash := model+"_weights_tf_dim_ordering_tf_kernels.h5", hashes[0]
	if noTop {
		name, hash = model+"_weights_tf_dim_ordering_tf_kernels_notop.h5", hashes[1]
	}
	return published{name: name, path: "/tensorflow/keras-applications/" + folder + "/" + name, hash: hash}
}

// maxDownload limits how much a download can write: the largest published file has 1.4 GB.
const maxDownload = 4 << 30

// find returns the path of a published file, and downloads it if necessary.
func (f Files) find(file published) (string, error) {
	dir := f.CacheDir
	if dir == "" {
		home, err := kerasHome()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, "models")
	}
	path := filepath.Join(dir, file.name)
	url := f.url(file)
	err := file.verify(path)
	switch {
	case err == nil:
		return path, nil
	case !f.Download && errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %s; set Files.Download to fetch it, or place there what is at %s", path, url)
	case !f.Download:
		return "", fmt.Errorf("%w; set Files.Download to download it again from %s", err, url)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := file.download(f.Context, url, path); err != nil {
		return "", fmt.Errorf("download %s: %w", url, err)
	}
	return path, nil
}

func (f Files) url(file published) string {
	base := f.BaseURL
	if base == "" {
		base = DefaultBaseURL
	}
	return base + file.path
}

// kerasHome returns Keras's folder for configuration and caches.
func kerasHome() (string, error) {
	if dir := os.Getenv("KERAS_HOME"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot tell where Keras's cache is: %w; set Files.CacheDir", err)
	}
	return filepath.Join(home, ".keras"), nil
}

func (p published) hasher() hash.Hash {
	if len(p.hash) == hex.EncodedLen(sha256.Size) {
		return sha256.New()
	}
	return md5.New() // what Keras publishes for most files
}

// check compares the checksum of the read data with the published one.
func (p published) check(what string, h hash.Hash) error {
	if sum := hex.EncodeToString(h.Sum(nil)); p.hash != "" && sum != p.hash {
		return fmt.Errorf("%s has the checksum %s, expected %s", what, sum, p.hash)
	}
	return nil
}

func (p published) verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := p.hasher()
	if p.hash != "" {
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
	}
	return p.check(path, h)
}

// download writes the file if its checksum is correct.
func (p published) download(ctx context.Context, url, path string) error {
	return download.To(ctx, url, path, func(w io.Writer, response *http.Response) error {
		h := p.hasher()
		n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(response.Body, maxDownload+1))
		if err != nil {
			return err
		}
		if n > maxDownload {
			return fmt.Errorf("the file is larger than %d bytes", int64(maxDownload))
		}
		if response.ContentLength >= 0 && n != response.ContentLength {
			return fmt.Errorf("received %d of %d bytes", n, response.ContentLength)
		}
		return p.check("what was received", h)
	})
}
