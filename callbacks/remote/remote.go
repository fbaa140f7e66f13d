// Package remote sends the requests of [callbacks.RemoteMonitor]. Import it for its side effect. Programs that do not
// import it are about a megabyte smaller, because they need no HTTP client:
//
//	import _ "github.com/gokeras/gokeras/callbacks/remote"
package remote

import (
	"io"
	"net/http"
	"strings"

	"github.com/gokeras/gokeras/internal/httppost"
)

func init() { httppost.Send = send }

func send(r httppost.Request) error {
	request, err := http.NewRequest(http.MethodPost, r.Address, strings.NewReader(r.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", r.ContentType)
	for name, value := range r.Headers {
		request.Header.Set(name, value)
	}
	// A separate transport without keep-alive leaves no open connections behind.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: r.Timeout}).Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	return err
}
