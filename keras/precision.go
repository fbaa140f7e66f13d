package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// SetFloat32Precision sets how devices may multiply float32 matrices, in matrix products and convolutions. It applies
// to the whole process, to models that are compiled, or run with new shapes, from now on. The default is "float32".
// "tf32" lets tensor cores of NVIDIA GPUs (compute capability 8.0 or later) read only 10 bits of each factor's mantissa
// and accumulate in float32; that is several times as fast, with relative errors of about 0.0005 in each product. Other
// devices always compute in float32. Any other name is an error.
func SetFloat32Precision(name string) error {
	switch name {
	case "float32", "tf32":
		kernels.AllowTF32(name == "tf32")
		return nil
	}
	return fmt.Errorf("keras: the precision of float32 is %q; expected \"float32\" or \"tf32\"", name)
}
