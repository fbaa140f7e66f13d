package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/gokeras/gokeras/callbacks/remote"
	"github.com/gokeras/gokeras/internal/httppost"
)

func TestSend(t *testing.T) {
	var seen string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", r.Header.Get("X-Key"), " ", string(body))
		w.WriteHeader(http.StatusTeapot) // the answer does not matter
	}))
	defer server.Close()
	require.NoError(t, httppost.Send(httppost.Request{Address: server.URL + "/a", ContentType: "text/plain", Body: "hello", Headers: map[string]string{"X-Key": "k"}, Timeout: time.Minute}))
	require.Equal(t, "POST /a text/plain k hello", seen)
	require.Error(t, httppost.Send(httppost.Request{Address: "::", Timeout: time.Minute}))
}
