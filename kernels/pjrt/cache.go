//go:build linux

package pjrt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// cacheVariable names the folder in which compiled programs are stored for later processes. If it is not set, none are
// stored.
const cacheVariable = "GOKERAS_PJRT_CACHE"

// compile compiles a module, or loads the result of an earlier process. A file that cannot be read, or belongs to
// another plugin, is recompiled; a file that cannot be written is not stored.
func (b *Backend) compile(client *capi.Client, text []byte, o capi.CompileOptions) (*capi.Executable, error) {
	folder := os.Getenv(cacheVariable)
	if folder == "" {
		return client.Compile(text, o)
	}
	path, err := cachePath(folder, client, text, o)
	if err != nil {
		return nil, err
	}
	if code, err := os.ReadFile(path); err == nil && len(code) > 0 {
		if e, err := client.Load(code); err == nil {
			b.loaded.Add(1)
			return e, nil
		}
	}
	e, err := client.Compile(text, o)
	if err != nil {
		return nil, err
	}
	if code, err := e.Serialize(); err == nil && os.MkdirAll(folder, 0o700) == nil {
		_ = atomicfile.Write(path, func(w io.Writer) error { // if this fails the next process compiles again
			_, err := w.Write(code)
			return err
		})
	}
	return e, nil
}

// cachePath names the file of a program after its text, its compile options, and the compiler.
func cachePath(folder string, client *capi.Client, text []byte, o capi.CompileOptions) (string, error) {
	platform, version, err := client.Platform()
	if err != nil {
		return "", err
	}
	library, err := os.Stat(client.Plugin.Path)
	if err != nil {
		return "", fmt.Errorf("pjrt: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%d.%d\n%d %v\n%+v\n", platform, version, client.Plugin.Major, client.Plugin.Minor, library.Size(), library.ModTime().UnixNano(), o)
	h.Write(text)
	return filepath.Join(folder, hex.EncodeToString(h.Sum(nil))+".pjrt"), nil
}
