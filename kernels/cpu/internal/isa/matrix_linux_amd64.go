package isa

import "syscall"

// askForMatrixRegisters asks Linux for the state component of tile data, for this process and its children.
func askForMatrixRegisters() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
