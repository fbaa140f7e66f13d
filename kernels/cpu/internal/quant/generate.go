package quant

//go:generate go -C ../../../../internal/asmgen run ./quant -out ../../kernels/cpu/internal/quant/quant_amd64.s -pkg quant
