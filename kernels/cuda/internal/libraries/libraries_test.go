//go:build linux

package libraries

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The libraries of a machine, in supported and unsupported versions.
func TestFind(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the libraries of testdata")
	}
	for _, c := range []struct {
		name   string
		flags  map[string][]string // for the compiler, by file
		driver int
		want   []string
	}{
		{"CUDA 12", map[string][]string{"libcublasLt.so.12": {"-DVERSION=120405"}, "libcudnn.so.9": {"-DVERSION=92000"}, "libnvrtc.so.12": {"-DMAJOR=12", "-DMINOR=4"}}, 12040,
			[]string{"cuBLASLt 12.4.5 (DIR/libcublasLt.so.12): found, used for large products of matrices where it is measured to be faster", "cuDNN 9.20.0 (DIR/libcudnn.so.9): found, used for large convolutions where it is measured to be faster", "NVRTC 12.4 (DIR/libnvrtc.so.12): found, not used, because kernels are written as PTX, which the driver compiles without it"}},
		{"a driver that is too old", map[string][]string{"libcublasLt.so.13": {"-DVERSION=130101"}, "libcudnn.so.8": {"-DVERSION=7605"}, "libnvrtc.so.13": {"-DMAJOR=13", "-DMINOR=0"}}, 12040,
			[]string{"cuBLASLt 13.1.1 (DIR/libcublasLt.so.13): ignored: it needs a driver for CUDA 13, and this one is for 12.4",
				"cuDNN 7.6.5 (DIR/libcudnn.so.8): ignored: version 7 is none of 8 to 9", "NVRTC 13.0 (DIR/libnvrtc.so.13): ignored: it needs a driver for CUDA 13, and this one is for 12.4"}},
		{"other things of these names", map[string][]string{"libcublasLt.so.12": nil, "libcudnn.so.9": {"-DVERSION=0"}, "libnvrtc.so.12": {"-DMAJOR=99", "-DMINOR=0"}}, 13000,
			[]string{"undefined symbol", "version 0 is none of 8 to 9", "ignored: nvrtcVersion: error 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("GOKERAS_CUDA_PATH", folder)
			for file, flags := range c.flags {
				args := append([]string{"-shared", "-fPIC", "-o", filepath.Join(folder, file), "testdata/library.c"}, flags...)
				out, err := exec.Command(compiler, args...).CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			found := Find(c.driver)
			require.Len(t, found, len(c.want))
			for i, f := range found {
				assert.Equal(t, folder, filepath.Dir(f.Path))
				f.Path = filepath.Join("DIR", filepath.Base(f.Path))
				assert.Contains(t, f.String(), c.want[i])
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Setenv("GOKERAS_CUDA_PATH", "/a:/b")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "/conda")
	t.Setenv("CUDA_HOME", "/cuda")
	t.Setenv("CUDA_PATH", "")
	all := Places("f", "p")
	assert.Equal(t, []string{"/a/f", "/b/f", "f", "/conda/lib/f", "/cuda/lib64/f", "/usr/local/cuda/lib64/f"}, all[:6])
	assert.Equal(t, "no cuDNN", Found{Name: "cuDNN"}.String())
}
