package async

import (
	"sync"

	"github.com/gokeras/gokeras/kernels"
)

// Shared returns the backend of kind "async" that the tests of a package share. The first call registers it.
func Shared() *Backend { return shared() }

var shared = sync.OnceValue(func() *Backend {
	b := New(Options{})
	kernels.Register(b)
	return b
})
