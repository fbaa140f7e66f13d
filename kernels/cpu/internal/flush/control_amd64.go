package flush

const toZero Mode = 1<<15 | 1<<6 // FTZ and DAZ

func control() uint32

func setControl(bits uint32)
