package datasets_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data/datasets"
)

// useSmall lets the tiny data set pass for MNIST.
func useSmall(t *testing.T) {
	var sizes [4]int64
	var sums [4]string
	for i, name := range datasets.FileNames() {
		sum := sha256.Sum256([]byte(small[name]))
		sizes[i], sums[i] = int64(len(small[name])), hex.EncodeToString(sum[:])
	}
	t.Cleanup(datasets.UseFiles(sizes, sums))
}

// serve answers with the content of each file.
func serve(t *testing.T, content func(name string) []byte) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body := content(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/mnist/"), ".gz"))
		if body == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mnist/", requests
}

func TestDownload(t *testing.T) {
	useSmall(t)
	for name, packed := range map[string]bool{"packed": true, "unpacked by the server": false} {
		t.Run(name, func(t *testing.T) {
			url, requests := serve(t, func(name string) []byte {
				if packed {
					return gzipped(t, small[name])
				}
				return []byte(small[name])
			})
			cache := filepath.Join(t.TempDir(), "new", "folder")
			options := []datasets.Option{datasets.Download(t.Context()), datasets.BaseURL(url), datasets.CacheDirectory(cache)}
			mnist, err := datasets.MNIST(options...)
			require.NoError(t, err)
			assert.Equal(t, datasets.FromDownload, mnist.Source)
			assert.Equal(t, cache, mnist.Path)
			assert.Equal(t, []uint8{14, 15}, mnist.Test.Labels.Elements())
			assert.Equal(t, int32(4), requests.Load())

			mnist, err = datasets.MNIST(options...)
			require.NoError(t, err)
			assert.Equal(t, datasets.FromCache, mnist.Source)
			assert.Equal(t, int32(4), requests.Load(), "nothing is fetched twice")

			require.NoError(t, os.Remove(filepath.Join(cache, "t10k-images-idx3-ubyte")))
			_, err = datasets.MNIST(datasets.BaseURL(strings.TrimSuffix(url, "/")), options[0], options[2])
			require.NoError(t, err)
			assert.Equal(t, int32(5), requests.Load(), "only what is missing is fetched")
		})
	}
}

func TestDownloadRejects(t *testing.T) {
	useSmall(t)
	for want, content := range map[string]func(string) []byte{
		"the server answered 404 Not Found": func(string) []byte { return nil },
		"SHA-256":                           func(name string) []byte { return gzipped(t, small[name][:len(small[name])-1]+"x") },
		"got 21 bytes":                      func(name string) []byte { return gzipped(t, small[name][:len(small[name])-1]) },
		"got 23 bytes":                      func(name string) []byte { return gzipped(t, small[name]+strings.Repeat("x", 1000)) },
		"unexpected EOF":                    func(name string) []byte { b := gzipped(t, small[name]); return b[:len(b)-9] },
	} {
		url, _ := serve(t, content)
		cache := t.TempDir()
		_, err := datasets.MNIST(datasets.Download(t.Context()), datasets.BaseURL(url), datasets.CacheDirectory(cache))
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "download "+url+"train-images-idx3-ubyte.gz")
		left, err := os.ReadDir(cache)
		require.NoError(t, err)
		assert.Empty(t, left, "nothing is left of a download that failed")
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	useSmall(t)
	url, _ := serve(t, func(name string) []byte { return []byte(small[name]) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := datasets.MNIST(datasets.Download(ctx), datasets.BaseURL(url), datasets.CacheDirectory(t.TempDir()))
	require.ErrorIs(t, err, context.Canceled)
	_, err = datasets.MNIST(datasets.Download(t.Context()), datasets.BaseURL("http://bad host/"), datasets.CacheDirectory(t.TempDir()))
	require.ErrorContains(t, err, "download http://bad host/train-images-idx3-ubyte.gz")
}
