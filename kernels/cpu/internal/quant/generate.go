package quant

//go:generate go -C ../../../../internal/asmgen run ./quant ../../kernels/cpu/internal/quant
