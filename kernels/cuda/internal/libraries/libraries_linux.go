package libraries

import (
	"fmt"
	"path/filepath"

	"github.com/ebitengine/purego"
)

// Found describes a library found on this machine.
type Found struct {
	Name    string
	Path    string // the path passed to the loader; "" if there is none
	Version string
	Problem string // why this version cannot be used; "" if it can
}

// described is what is known about a library in advance.
type described struct {
	name     string
	files    []string // file names, the newest first
	packages []string // of Python that contain it
	version  func(handle uintptr) (major int, text string, err error)
	oldest   int  // oldest supported major version
	newest   int  // newest supported major version
	toolkit  bool // the major version is that of CUDA, which the driver must support
}

var all = []described{
	{"cuBLASLt", []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}, []string{"cu13", "cublas"}, number("cublasLtGetVersion"), 12, 13, true},
	{"cuDNN", []string{"libcudnn.so.9", "libcudnn.so.8"}, []string{"cudnn"}, number("cudnnGetVersion"), 8, 9, false},
	{"NVRTC", []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}, []string{"cu13", "cuda_nvrtc"}, pair("nvrtcVersion"), 12, 13, true},
}

// CUBLASLt looks for cuBLASLt, as Find does.
func CUBLASLt(driver int) Found { return all[0].find(driver) }

// CUDNN looks for cuDNN, as Find does.
func CUDNN(driver int) Found { return all[1].find(driver) }

// Find looks for the libraries. The argument is the CUDA version that the driver supports, in its encoding: 12040 for
// 12.4.
func Find(driver int) []Found {
	var found []Found
	for _, d := range all {
		found = append(found, d.find(driver))
	}
	return found
}

func (d described) find(driver int) Found {
	f := Found{Name: d.name}
	for _, file := range d.files {
		for _, path := range Places(file, d.packages...) {
			handle, err := purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
			if err != nil {
				continue
			}
			f.Path = path
			major, text, err := d.version(handle)
			switch f.Version = text; {
			case err != nil:
				f.Problem = err.Error()
			case major < d.oldest || major > d.newest:
				f.Problem = fmt.Sprintf("version %d is none of %d to %d", major, d.oldest, d.newest)
			case d.toolkit && major > driver/1000:
				f.Problem = fmt.Sprintf("it needs a driver for CUDA %d, and this one is for %d.%d", major, driver/1000, driver%1000/10)
			}
			return f
		}
	}
	return f
}

// number calls a function that returns the version as one number: 120405 is 12.4.5, and 92000 is 9.20.0.
func number(name string) func(uintptr) (int, string, error) {
	return func(handle uintptr) (int, string, error) {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return 0, "", err
		}
		r, _, _ := purego.SyscallN(symbol)
		n, unit := int(r), 10000
		if n < 10000 { // the encoding of cuDNN before 9
			unit = 1000
		}
		major, minor, patch := n/unit, n%unit/100, n%100
		return major, fmt.Sprintf("%d.%d.%d", major, minor, patch), nil
	}
}

// pair calls a function that returns the version as two numbers.
func pair(name string) func(uintptr) (int, string, error) {
	return func(handle uintptr) (int, string, error) {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return 0, "", err
		}
		var ask func(major, minor *int32) int32
		purego.RegisterFunc(&ask, symbol)
		var major, minor int32
		if r := ask(&major, &minor); r != 0 {
			return 0, "", fmt.Errorf("%s: error %d", name, r)
		}
		return int(major), fmt.Sprintf("%d.%d", major, minor), nil
	}
}

// String describes the library in one line.
func (f Found) String() string {
	switch {
	case f.Path == "":
		return "no " + f.Name
	case f.Problem != "":
		return fmt.Sprintf("%s %s (%s): ignored: %s", f.Name, f.Version, filepath.Clean(f.Path), f.Problem)
	}
	use := "not used, because kernels are written as PTX, which the driver compiles without it"
	switch f.Name {
	case all[0].name:
		use = "used for large products of matrices where it is measured to be faster"
	case all[1].name:
		use = "used for large convolutions where it is measured to be faster"
	}
	return fmt.Sprintf("%s %s (%s): found, %s", f.Name, f.Version, filepath.Clean(f.Path), use)
}
