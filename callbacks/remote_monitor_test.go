package callbacks_test

import (
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	_ "github.com/gokeras/gokeras/callbacks/remote"
	"github.com/gokeras/gokeras/internal/httppost"
	"github.com/gokeras/gokeras/internal/ports"
)

// listen starts a server on this machine and returns its address; each request's header and body go to seen.
func listen(t *testing.T, seen func(r *http.Request, body string)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if seen != nil {
			seen(r, string(body))
		}
		w.WriteHeader(http.StatusTeapot) // the answer does not matter
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

func epochLogs() *callbacks.Logs {
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 0.5)
	logs.Set("f1", 0.25, 1)
	logs.Set("größe <&>", 1e-7)
	logs.Append("learning_rate", math.NaN())
	return logs
}

// What the requests library sends for Keras's calls.
func TestRemoteMonitorSends(t *testing.T) {
	var header http.Header
	var path, body string
	root := listen(t, func(r *http.Request, b string) { header, path, body = r.Header, r.URL.Path, b })

	form := &callbacks.RemoteMonitor{Root: root, Headers: map[string]string{"X-Run": "7"}}
	m := newFakeModel()
	form.SetModel(m)
	require.NoError(t, form.OnTrainBegin())
	require.NoError(t, form.OnEpochEnd(3, epochLogs()))
	require.Empty(t, m.out.String())
	require.Equal(t, "/publish/epoch/end/", path)
	require.Equal(t, "application/x-www-form-urlencoded", header.Get("Content-Type"))
	require.Equal(t, "7", header.Get("X-Run"))
	values, err := url.ParseQuery(body)
	require.NoError(t, err)
	require.Equal(t, url.Values{"data": {`{"epoch": 3, "f1": [0.25, 1.0], "größe <&>": 1e-07, "loss": 0.5, "learning_rate": NaN}`}}, values)

	plain := &callbacks.RemoteMonitor{Root: root, Path: "/x", SendAsJSON: true}
	plain.SetModel(m)
	require.NoError(t, plain.OnTrainBegin())
	require.NoError(t, plain.OnEpochEnd(0, epochLogs()))
	require.Equal(t, "/x", path)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &object))
	require.Equal(t, map[string]any{"epoch": 0.0, "loss": 0.5, "f1": []any{0.25, 1.0}, "größe <&>": 1e-7, "learning_rate": nil}, object)
}

func TestRemoteMonitorWarnsOnce(t *testing.T) {
	free, err := ports.Free(1)
	require.NoError(t, err)
	address := "http://" + free[0] // where nobody listens
	m := newFakeModel()
	c := &callbacks.RemoteMonitor{Root: address}
	c.SetModel(m)
	require.NoError(t, c.OnTrainBegin())
	require.NoError(t, c.OnEpochEnd(0, epochLogs()))
	first := m.out.String()
	require.Contains(t, first, "Could not reach RemoteMonitor root server at "+address)
	require.NoError(t, c.OnEpochEnd(1, epochLogs()))
	require.Equal(t, first, m.out.String())
}

// A server that takes the request and never answers holds training up for the timeout only.
func TestRemoteMonitorTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	m := newFakeModel()
	c := &callbacks.RemoteMonitor{Root: "http://" + l.Addr().String(), Timeout: 50 * time.Millisecond}
	c.SetModel(m)
	require.NoError(t, c.OnTrainBegin())
	require.NoError(t, c.OnEpochEnd(0, epochLogs()))
	require.Contains(t, m.out.String(), "Could not reach RemoteMonitor")
}

func TestRemoteMonitorRefusesAddresses(t *testing.T) {
	for _, root := range []string{"localhost:9000", "ftp://x", "http://", "http://a b", "%"} {
		c := &callbacks.RemoteMonitor{Root: root}
		c.SetModel(newFakeModel())
		require.ErrorContains(t, c.OnTrainBegin(), "expected an address", root)
	}
}

// Without a client of HTTP the monitor says what to import.
func TestRemoteMonitorNeedsAClient(t *testing.T) {
	defer func(send func(httppost.Request) error) { httppost.Send = send }(httppost.Send)
	httppost.Send = nil
	require.ErrorContains(t, (&callbacks.RemoteMonitor{}).OnTrainBegin(), `import _ "github.com/gokeras/gokeras/callbacks/remote"`)
}
