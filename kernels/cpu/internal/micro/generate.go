package micro

//go:generate go -C ../../../../internal/asmgen run ./micro -out ../../kernels/cpu/internal/micro/tile_amd64.s -pkg micro -dispatch ../../kernels/cpu/internal/micro/tile_gen_amd64.go
//go:generate go -C ../../../../internal/asmgen run ./neon micro ../../kernels/cpu/internal/micro/tile_arm64.s ../../kernels/cpu/internal/micro/tile_gen_arm64.go
