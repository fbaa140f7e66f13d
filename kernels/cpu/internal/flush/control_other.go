//go:build !amd64 && !arm64

package flush

const toZero Mode = 0

func control() uint32 { return 0 }

func setControl(uint32) {}
