package kernels

import (
	"errors"
	"time"
)

// Lockstep is implemented by backends whose replicas run one program together, such as XLA's: the program has the same
// shapes on all of them. Strategies pad short batches if the parts of the replicas would differ.
type Lockstep interface {
	Backend
	// Lockstep reports whether the replicas do that.
	Lockstep() bool
}

// Grouper is implemented by backends that know which of their devices are closely linked.
type Grouper interface {
	Backend
	// Groups splits devices of the backend into groups whose members communicate faster with each other than with
	// others, as indices into the list, in its order; nil if nothing is known.
	Groups(devices []Device) [][]int
}

// Surveyor is implemented by backends that know where their devices are in the machine.
type Surveyor interface {
	Backend
	// Cores lists the devices of all processes, in the order of their numbers.
	Cores() ([]Core, error)
}

// Core is a device with its place in a machine of many.
type Core struct {
	Device      Device // of this process; Kind is "" for one of another process
	Number      int    // number among the devices of all processes
	Process     int    // process that the device belongs to
	Model       string // "TPU v5 lite", "cpu"
	Coordinates []int  // of the chip; nil where the platform has none
	OnChip      int    // number of the core on its chip
}

// Hosts are processes whose devices form one machine together, such as the hosts of a TPU pod: each sees the devices of
// all, and has some of its own.
type Hosts struct {
	Index, Count int
	Keys         KeyStore
}

// KeyStore is where hosts exchange what they need to connect their devices. Any goroutine may call it.
type KeyStore interface {
	// Get returns the value of a key. It waits for the host that sets it, up to the timeout.
	Get(key string, timeout time.Duration) ([]byte, error)
	// TryGet does not wait: it returns [ErrNoKey] if nobody has set a value.
	TryGet(key string) ([]byte, error)
	// Put sets the value of a key, for all hosts.
	Put(key string, value []byte) error
}

// ErrNoKey says that a key of a [KeyStore] has no value.
var ErrNoKey = errors.New("the key has no value")

// Joiner is implemented by backends that bring the devices of several processes together.
type Joiner interface {
	Backend
	// Join connects to the devices of all hosts, and returns the number of this process among them. All hosts call it,
	// before anything else uses a device of the backend; it returns when all have.
	Join(h Hosts) (process int, err error)
}
