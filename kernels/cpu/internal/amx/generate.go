package amx

//go:generate go -C ../../../../internal/asmgen run ./amx ../../kernels/cpu/internal/amx
