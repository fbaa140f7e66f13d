package libraries

import (
	"os"
	"path/filepath"
)

// Places returns the paths to try for a library's file, in this order: the folders of GOKERAS_CUDA_PATH, the loader's
// search path, the named packages in Python's environments, and the folders in which CUDA's installers and NVIDIA's
// system packages put it.
func Places(file string, packages ...string) []string {
	var all []string
	for _, folder := range filepath.SplitList(os.Getenv("GOKERAS_CUDA_PATH")) {
		all = append(all, filepath.Join(folder, file))
	}
	all = append(all, file)
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		root := os.Getenv(variable)
		if root == "" {
			continue
		}
		for _, name := range packages {
			found, _ := filepath.Glob(filepath.Join(root, "lib", "python3*", "site-packages", "nvidia", name, "lib", file)) // the only error is a malformed pattern
			all = append(all, found...)
		}
		all = append(all, filepath.Join(root, "lib", file))
	}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := os.Getenv(variable); root != "" {
			all = append(all, filepath.Join(root, "lib64", file))
		}
	}
	return append(all, "/usr/local/cuda/lib64/"+file, "/usr/lib/x86_64-linux-gnu/"+file, "/usr/lib/aarch64-linux-gnu/"+file, "/usr/lib64/"+file, "/usr/local/nvidia/lib64/"+file)
}
