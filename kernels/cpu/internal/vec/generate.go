package vec

//go:generate go -C ../../../../internal/asmgen run ./vec -out ../../kernels/cpu/internal/vec/vec_amd64.s -pkg vec -dispatch ../../kernels/cpu/internal/vec/vec_gen_amd64.go
//go:generate go -C ../../../../internal/asmgen run ./neon vec ../../kernels/cpu/internal/vec/vec_arm64.s ../../kernels/cpu/internal/vec/vec_gen_arm64.go
