package micro

//go:generate go -C ../../../../internal/asmgen run ./micro ../../kernels/cpu/internal/micro
