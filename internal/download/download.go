// Package download fetches files that are published on the web.
package download

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// To fetches what is at a URL and writes the file at path, as a whole or not at all: receive copies the answer to it
// and returns an error where it is not what was expected.
func To(ctx context.Context, url, path string, receive func(w io.Writer, answer *http.Response) error) error {
	if ctx == nil {
		ctx = context.Background()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	return atomicfile.Write(path, func(w io.Writer) error { return receive(w, answer) })
}
