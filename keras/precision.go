package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// SetFloat32Precision sets how devices may multiply matrices of float32, in products and convolutions of models that
// are compiled, or run with other shapes, from now on: "float32", the default, or "tf32", which lets tensor cores of
// NVIDIA GPUs (compute capability 8.0 or later) read 10 bits of each factor's mantissa and add up in float32. That is
// several times as fast, with relative errors of some 0.0005 in each product. Other devices always compute in float32.
// Any other name is an error. It applies to the whole process.
func SetFloat32Precision(name string) error {
	switch name {
	case "float32", "tf32":
		kernels.AllowTF32(name == "tf32")
		return nil
	}
	return fmt.Errorf("keras: the precision of float32 is %q; expected \"float32\" or \"tf32\"", name)
}
