package applications_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/applications"
)

// serve answers requests for paths with files, and counts them.
func serve(t *testing.T, files map[string][]byte) (base string, requests *[]string) {
	t.Helper()
	requests = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, r.URL.Path)
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// TestDownload: MobileNet's weights have no published checksum, so a file of our own can stand for them.
func TestDownload(t *testing.T) {
	small := applications.MobileNetOptions{Alpha: 0.25, Options: applications.Options{NoTop: true, InputShape: []int{128, 128, 3}}}
	origin, err := applications.NewMobileNet(small)
	require.NoError(t, err)
	fill(t, origin, 6)
	path := filepath.Join(t.TempDir(), "w.weights.h5")
	require.NoError(t, origin.SaveWeights(path))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	base, requests := serve(t, map[string][]byte{"/tensorflow/keras-applications/mobilenet/mobilenet_2_5_128_tf_no_top.h5": content})

	small.Weights = applications.ImageNet
	small.Files = applications.Files{CacheDir: filepath.Join(t.TempDir(), "models"), BaseURL: base}
	_, err = applications.NewMobileNet(small)
	require.ErrorContains(t, err, "applications: mobilenet: there is no file "+filepath.Join(small.Files.CacheDir, "mobilenet_2_5_128_tf_no_top.h5")+"; set Files.Download to fetch it")
	assert.Empty(t, *requests, "a download that nobody asked for")

	small.Files.Download = true
	for range 2 { // the second time from the cache
		m, err := applications.NewMobileNet(small)
		require.NoError(t, err)
		assert.Equal(t, "mobilenet_0.25_128", m.Name())
		want, err := origin.GetWeights()
		require.NoError(t, err)
		got, err := m.GetWeights()
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].Elements(), got[i].Elements())
		}
	}
	assert.Len(t, *requests, 1)
}

func TestDownloadErrors(t *testing.T) {
	scores := data.Must(data.Zeros[float32](1, 1000))
	const index = "/download.tensorflow.org/data/imagenet_class_index.json"
	base, _ := serve(t, map[string][]byte{index: []byte("something else")})
	files := applications.Files{CacheDir: t.TempDir(), BaseURL: base, Download: true}
	_, err := applications.DecodePredictions(scores, applications.DecodeOptions{Files: files})
	require.ErrorContains(t, err, "has the checksum 6c7ba9c5a141421e1c03cb9807c97c74, expected c2c37ea517e94d9795004a39431a14cb")
	left, err := os.ReadDir(files.CacheDir)
	require.NoError(t, err)
	assert.Empty(t, left, "a file with another checksum was kept")

	_, err = applications.NewVGG16(applications.Options{Weights: applications.ImageNet, Files: files, NoTop: true, InputShape: []int{32, 32, 3}})
	require.ErrorContains(t, err, "the server answered 404")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	files.Context = ended
	_, err = applications.DecodePredictions(scores, applications.DecodeOptions{Files: files})
	require.ErrorIs(t, err, context.Canceled)

	// A file in the cache that is not the published one.
	files = applications.Files{CacheDir: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(files.CacheDir, "imagenet_class_index.json"), []byte("{}"), 0o600))
	_, err = applications.DecodePredictions(scores, applications.DecodeOptions{Files: files})
	require.ErrorContains(t, err, "has the checksum 99914b932bd37a50b983c5e7c90ae93b, expected c2c37ea517e94d9795004a39431a14cb; set Files.Download to download it again")
}

func TestCacheFolder(t *testing.T) {
	scores := data.Must(data.Zeros[float32](1, 1000))
	home := t.TempDir()
	t.Setenv("KERAS_HOME", home)
	_, err := applications.DecodePredictions(scores, applications.DecodeOptions{})
	require.ErrorContains(t, err, filepath.Join(home, "models", "imagenet_class_index.json"))
	t.Setenv("KERAS_HOME", "")
	t.Setenv("HOME", home)
	_, err = applications.DecodePredictions(scores, applications.DecodeOptions{})
	require.ErrorContains(t, err, filepath.Join(home, ".keras", "models", "imagenet_class_index.json"))
}
