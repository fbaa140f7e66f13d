package vec

//go:generate go -C ../../../../internal/asmgen run ./vec ../../kernels/cpu/internal/vec
