package flush

const toZero Mode = 1 << 24 // FZ: operands and results

func control() uint32

func setControl(bits uint32)
