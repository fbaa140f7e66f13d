package collective

import (
	"fmt"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Implementation says how gradients are reduced between workers.
type Implementation string

// The implementations. For GPUs, Auto uses memory that the workers share if all are on one host with one GPU each, or
// NCCL if all workers have the same version of the library. Otherwise Auto is Ring.
const (
	Auto Implementation = "AUTO"
	Ring Implementation = "RING"
	NCCL Implementation = "NCCL"
)

// ParseImplementation reads a name in any case; "" is Auto.
func ParseImplementation(name string) (Implementation, error) {
	switch i := Implementation(strings.ToUpper(name)); i {
	case "":
		return Auto, nil
	case Auto, Ring, NCCL:
		return i, nil
	}
	return "", fmt.Errorf("collective: %q is not a communication implementation; valid are AUTO, RING, NCCL", name)
}

// CommunicationOptions are the hints of tf.distribute.experimental.CommunicationOptions, for a strategy and, merged
// over them, for one reduction.
type CommunicationOptions struct {
	BytesPerPack   int            // tensors are reduced in packs of about this size, so that the first can go out early; 0: one pack
	Timeout        time.Duration  // longest wait in one collective, see Within; 0: Options.Timeout of the group
	Implementation Implementation // "": Auto
	// Wire is the type in which a program's float32 sums of more than 16 KiB, which are those of gradients, travel
	// between workers: ir.BFloat16 halves the bytes; 0 means float32. Partial sums and the result are rounded to its 8
	// significant bits before each hop. So with n workers the gradient has a relative error of up to (n-1)·2^-8, and
	// training no longer matches that of one worker to the last digits. All workers still get the same bits. Variables,
	// metrics and short sums travel unchanged.
	Wire ir.DType
	// Captured lets NCCL take part in captured steps if workers have several GPUs; see distribute.NcclAllReduce, and
	// NVIDIA's warning there. It must be the same on all workers.
	Captured bool
}

// Check returns an error if a value is invalid.
func (o CommunicationOptions) Check() error {
	if o.BytesPerPack < 0 {
		return fmt.Errorf("collective: BytesPerPack must be at least 0, received %d", o.BytesPerPack)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("collective: Timeout must not be negative, received %v", o.Timeout)
	}
	if o.Wire != ir.Invalid && o.Wire != ir.BFloat16 {
		return fmt.Errorf("collective: values cannot travel between workers as %v; Wire is ir.BFloat16 or left out", o.Wire)
	}
	_, err := ParseImplementation(string(o.Implementation))
	return err
}

// Merge returns o with the fields that override sets.
func (o CommunicationOptions) Merge(override CommunicationOptions) CommunicationOptions {
	if override.BytesPerPack != 0 {
		o.BytesPerPack = override.BytesPerPack
	}
	if override.Timeout != 0 {
		o.Timeout = override.Timeout
	}
	if override.Implementation != "" && override.Implementation != Auto {
		o.Implementation = override.Implementation
	}
	if override.Wire != ir.Invalid {
		o.Wire = override.Wire
	}
	o.Captured = o.Captured || override.Captured
	return o
}

// Packs groups tensors for reduction as TensorFlow does: from the last to the first, because the last gradients are
// ready first. A pack ends before the tensor that would make it larger than BytesPerPack. The result lists the indices
// of each pack.
func (o CommunicationOptions) Packs(tensors []Tensor) [][]int {
	var packs [][]int
	size := 0
	for i := len(tensors) - 1; i >= 0; i-- {
		bytes := len(tensors[i].Data)
		if len(packs) == 0 || o.BytesPerPack > 0 && size+bytes > o.BytesPerPack {
			packs = append(packs, nil)
			size = 0
		}
		packs[len(packs)-1] = append(packs[len(packs)-1], i)
		size += bytes
	}
	return packs
}
