package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

	"github.com/gokeras/gokeras/internal/download"
)

// DefaultBaseURL is a mirror of the MNIST database kept by the Common Visual Data Foundation.
const DefaultBaseURL = "https://storage.googleapis.com/cvdf-datasets/mnist/"

// downloadMissing downloads the files that a folder lacks and reports whether there were any.
func downloadMissing(ctx context.Context, baseURL, dir string) (fetched bool, err error) {
	for _, f := range mnistFiles {
		_, err := f.find(dir)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fetched, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fetched, err
		}
		url := strings.TrimSuffix(baseURL, "/") + "/" + f.name + ".gz"
		if err := f.download(ctx, url, dir); err != nil {
			return fetched, fmt.Errorf("download %s: %w", url, err)
		}
		fetched = true
	}
	return fetched, nil
}

// download downloads the file and writes it if its checksum is right, unpacked so that it loads quickly.
func (f mnistFile) download(ctx context.Context, url, dir string) error {
	return download.To(ctx, url, filepath.Join(dir, f.name), func(w io.Writer, answer *http.Response) error { return f.copyVerified(w, answer.Body) })
}

func (f mnistFile) copyVerified(w io.Writer, body io.Reader) error {
	buffered := bufio.NewReader(body)
	content := io.Reader(buffered)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) { // some servers unpack on the way
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		content = z
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(content, f.size+1))
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); n != f.size || sum != f.sha256 {
		return fmt.Errorf("got %d bytes with SHA-256 %s; expected %d bytes with %s", n, sum, f.size, f.sha256)
	}
	return nil
}
