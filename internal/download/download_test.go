package download

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/here" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "content")
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "file")
	receive := func(w io.Writer, answer *http.Response) error { _, err := io.Copy(w, answer.Body); return err }
	require.ErrorContains(t, To(t.Context(), server.URL+"/elsewhere", path, receive), "404")

	wrong := errors.New("a wrong checksum")
	require.ErrorIs(t, To(t.Context(), server.URL+"/here", path, func(w io.Writer, answer *http.Response) error {
		return errors.Join(receive(w, answer), wrong)
	}), wrong)
	require.NoFileExists(t, path, "what is not as expected is not kept")

	var none context.Context // is the background
	require.NoError(t, To(none, server.URL+"/here", path, receive))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
}
