//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// on returns a backend on a fake driver; when the test ends, nothing may be alive on it.
func on(t testing.TB, f *fakedriver.Fake) *backend {
	b := newBackend(Kind, func() (driver.API, error) { return f, nil })
	b.several = 512
	t.Cleanup(func() {
		require.NoError(t, f.Fault())
		require.NoError(t, b.close())
		assert.Empty(t, f.Alive(), "something was not given back")
	})
	return b
}

// The backend's suite, with the kernels run by the interpreter: half a minute, or a selection with -short.
func TestConformance(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 4})
	kernelstest.Run(t, on(t, f), kernels.Device{Kind: Kind})
}
