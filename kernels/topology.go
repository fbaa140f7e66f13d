package kernels

// Lockstep is implemented by backends whose replicas run one program together, such as XLA's: the program has the same
// shapes on all of them. Strategies pad short batches if the parts of the replicas would differ.
type Lockstep interface {
	Backend
	// Lockstep reports whether that is so.
	Lockstep() bool
}

// Grouper is implemented by backends that know which of their devices are linked closely.
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
	Number      int    // among the devices of all processes
	Process     int    // that the device belongs to
	Model       string // "TPU v5 lite", "cpu"
	Coordinates []int  // of the chip; nil where the platform has none
	OnChip      int    // number of the core on its chip
}
