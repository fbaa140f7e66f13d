//go:build linux

package pjrt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/kernels"
)

func init() {
	kernels.Register(&Backend{kind: "tpu", find: findTPU, prepare: prepareTPU, meshes: newMeshes("tpu")})
	kernels.Register(&Backend{kind: "xla", find: findNamed, meshes: newMeshes("xla")})
}

// findNamed returns the plugin that the environment names.
func findNamed() (string, error) {
	const variable = "GOKERAS_PJRT_PLUGIN"
	path := os.Getenv(variable)
	if path == "" {
		return "", fmt.Errorf("pjrt: devices of kind \"xla\" need a PJRT plugin: set %s to the file of one (pjrt_c_api_..._plugin.so)", variable)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("pjrt: %s names a file that cannot be read: %w", variable, err)
	}
	return path, nil
}

// findTPU looks for libtpu where its users have it; see the package comment.
func findTPU() (string, error) {
	var places []string
	if path := os.Getenv("TPU_LIBRARY_PATH"); path != "" {
		places = append(places, path)
	}
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if folder := os.Getenv(variable); folder != "" {
			places = append(places, filepath.Join(folder, "lib", "python3*", "site-packages", "libtpu", "libtpu.so"))
		}
	}
	places = append(places, "/lib/libtpu.so", "/usr/lib/libtpu.so")
	for _, pattern := range places {
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("pjrt: no libtpu.so in %s: install the Python package libtpu, or set TPU_LIBRARY_PATH to the file", strings.Join(places, ", "))
}

// prepareTPU looks for the hardware, because without any, libtpu would ask the cloud's metadata server for minutes.
func prepareTPU() error {
	if _, err := os.Stat("/dev/accel0"); err == nil {
		return nil
	}
	if found, _ := filepath.Glob("/dev/vfio/[0-9]*"); len(found) > 0 {
		return nil
	}
	return fmt.Errorf("pjrt: this machine has no TPU (neither /dev/accel0 nor /dev/vfio/0 exists)")
}
