package isa

import "golang.org/x/sys/unix"

// hasBF16 reads the bit from the second word of processor features that Linux gives each process.
func hasBF16() bool {
	const secondWord, bf16 = 26, 1 << 14 // AT_HWCAP2, HWCAP2_BF16
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, entry := range vector {
		if entry[0] == secondWord {
			return entry[1]&bf16 != 0
		}
	}
	return false
}
