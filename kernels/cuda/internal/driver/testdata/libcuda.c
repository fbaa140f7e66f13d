// A libcuda.so.1 for tests of the binding: it checks every argument and returns 1 (CUDA_ERROR_INVALID_VALUE) for handles
// that it did not create. Device memory is host memory; a launch writes its grid, its block and its arguments through the first argument.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int R;
typedef void *H;
static char context, stream_, event_, module_, function_, graph_, exec_, pool_;
static int retained, current, captured;

R cuInit(unsigned f) { return f == 0 ? 0 : 1; }
R cuDriverGetVersion(int *v) { *v = 12040; return 0; }
R cuDeviceGetCount(int *n) { *n = 2; return 0; }
R cuDeviceGet(int *d, int i) { *d = 40 + i; return i < 2 ? 0 : 101; }
R cuDeviceGetName(char *s, int n, int d) { strncpy(s, d == 41 ? "Second" : "First", n); return n >= 100 && d >= 40 ? 0 : 1; }
R cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 8 : a == 76 ? 6 : a == 16 ? 108 : a == 115 ? 1 : 0; return d >= 40 ? 0 : 1; }
R cuDeviceTotalMem_v2(size_t *n, int d) { *n = 5000000000u; return d >= 40 ? 0 : 1; }
R cuDevicePrimaryCtxRetain(H *c, int d) { *c = &context; retained++; return d >= 40 ? 0 : 1; }
R cuDevicePrimaryCtxRelease_v2(int d) { return d >= 40 && retained-- > 0 ? 0 : 1; }
R cuDeviceGetDefaultMemPool(H *p, int d) { *p = &pool_; return d >= 40 ? 0 : 1; }
R cuMemPoolSetAttribute(H p, int a, void *v) { return p == &pool_ && a == 4 && *(uint64_t *)v == UINT64_MAX ? 0 : 1; }
R cuMemPoolTrimTo(H p, size_t n) { return p == &pool_ && n == 0 ? 0 : 1; }
R cuCtxSetCurrent(H c) { current++; return c == &context ? 0 : 201; }
R cuMemGetInfo_v2(size_t *f, size_t *t) { *f = 3000000000u; *t = 5000000000u; return 0; }
R cuMemAllocAsync(uint64_t *d, size_t n, H s) { *d = (uint64_t)malloc(n); return s == &stream_ ? 0 : 1; }
R cuMemFreeAsync(uint64_t d, H s) { free((void *)d); return s == &stream_ ? 0 : 1; }
R cuMemAlloc_v2(uint64_t *d, size_t n) { *d = (uint64_t)malloc(n); return n == 96 ? 0 : 1; }
R cuMemFree_v2(uint64_t d) { free((void *)d); return 0; }
typedef struct { char bytes[64]; } Handle;
R cuIpcGetMemHandle(Handle *h, uint64_t d) { for (int i = 0; i < 64; i++) h->bytes[i] = i + 1; memcpy(h->bytes, &d, 8); return 0; }
R cuIpcOpenMemHandle_v2(uint64_t *d, Handle h, unsigned f) {
	for (int i = 8; i < 64; i++) if (h.bytes[i] != i + 1) return 1;
	memcpy(d, h.bytes, 8);
	return f == 1 ? 0 : 1;
}
R cuIpcCloseMemHandle(uint64_t d) { return d ? 0 : 1; }
R cuMemHostAlloc(void **p, size_t n, unsigned f) { *p = malloc(n); return f == 1 ? 0 : 1; }
R cuMemFreeHost(void *p) { free(p); return 0; }
R cuMemcpyHtoDAsync_v2(uint64_t d, const void *p, size_t n, H s) { memcpy((void *)d, p, n); return s == &stream_ ? 0 : 1; }
R cuMemcpyDtoHAsync_v2(void *p, uint64_t d, size_t n, H s) { memcpy(p, (void *)d, n); return s == &stream_ ? 0 : 1; }
R cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, H s) { memcpy((void *)to, (void *)from, n); return s == &stream_ ? 0 : 1; }
R cuMemsetD8Async(uint64_t d, unsigned char v, size_t n, H s) { memset((void *)d, v, n); return s == &stream_ ? 0 : 1; }
R cuStreamCreateWithPriority(H *s, unsigned f, int p) { *s = &stream_; return f == 1 && p == 0 ? 0 : 1; }
R cuStreamDestroy_v2(H s) { return s == &stream_ ? 0 : 1; }
R cuStreamSynchronize(H s) { return s == &stream_ ? 0 : 1; }
R cuEventCreate(H *e, unsigned f) { *e = &event_; return f == 2 || f == 0 ? 0 : 1; }
R cuEventElapsedTime(float *ms, H a, H b) { *ms = 1.5f; return a == &event_ && b == &event_ ? 0 : 1; }
R cuEventDestroy_v2(H e) { return e == &event_ ? 0 : 1; }
R cuEventRecord(H e, H s) { return e == &event_ && s == &stream_ ? 0 : 1; }
R cuEventSynchronize(H e) { return e == &event_ ? 0 : 1; }
R cuEventQuery(H e) { return e == &event_ ? 600 : 1; }
R cuStreamWaitEvent(H s, H e, unsigned f) { return s == &stream_ && e == &event_ && f == 0 ? 0 : 1; }
R cuDeviceCanAccessPeer(int *can, int a, int b) { *can = a == 40 && b == 41; return a >= 40 && b >= 40 ? 0 : 1; }
R cuMemPoolSetAccess(H p, const int *desc, size_t n) { return p == &pool_ && n == 1 && desc[0] == 1 && desc[1] == 41 && desc[2] == 3 ? 0 : 1; }
R cuStreamQuery(H s) { return s == &stream_ ? 600 : 1; }
// A text that begins with "bad" does not compile.
static int same(const char *text, const char *what) { return !strncmp(text, what, strlen(what)); }
R cuModuleLoadDataEx(H *m, const char *text, unsigned n, int *options, void **values) {
	*m = &module_;
	if (same(text, "\177binary of good")) return n == 0 && !options && !values ? 0 : 1;
	if (n != 2 || options[0] != 5 || options[1] != 6 || (uintptr_t)values[1] < 100) return 1;
	if (strncmp(text, "bad", 3)) return 0;
	strcpy(values[0], "line 1: nonsense");
	return 218;
}
static char link_;
static void **logs;
static char linked[100];
R cuLinkCreate_v2(unsigned n, int *options, void **values, H *state) {
	*state = &link_;
	logs = values;
	linked[0] = 0;
	return n == 2 && options[0] == 5 && options[1] == 6 && (uintptr_t)values[1] >= 100 ? 0 : 1;
}
R cuLinkAddData_v2(H state, int type, void *data, size_t size, const char *name, unsigned n, int *options, void **values) {
	if (state != &link_ || type != 1 || strlen(data) + 1 != size || strcmp(name, "kernels") || n || options || values) return 1;
	if (same(data, "bad")) { strcpy(logs[0], "line 1: nonsense"); return 218; }
	strcpy(linked, "\177binary of ");
	strcat(linked, data);
	return 0;
}
R cuLinkComplete(H state, void **binary, size_t *size) { *binary = linked; *size = strlen(linked) + 1; return state == &link_ ? 0 : 1; }
R cuLinkDestroy(H state) { memset(linked, 0, sizeof linked); return state == &link_ ? 0 : 1; }
R cuModuleUnload(H m) { return m == &module_ ? 0 : 1; }
R cuModuleGetFunction(H *f, H m, const char *name) { *f = &function_; return m == &module_ && !strcmp(name, "kernel_0") ? 0 : 500; }
R cuFuncSetAttribute(H f, int what, int value) { return f == &function_ && what == 8 && value <= 227 * 1024 ? 0 : 1; }
R cuLaunchKernel(H f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, H s, void **params, void **extra) {
	if (f != &function_ || s != &stream_ || extra || by != 1 || bz != 1) return 1;
	uint64_t *out = *(uint64_t **)params[0];
	if (shared == 128) { /* two tensor maps after a pointer */
		memcpy(out, params[1], 128);
		memcpy(out + 16, params[2], 128);
		return 0;
	}
	uint64_t v[] = {gx, gy, gz, bx, shared, *(uint64_t *)params[1], *(uint64_t *)params[2]};
	memcpy(out, v, sizeof v);
	return 0;
}
/* A map holds its description. A matrix has one stride fewer than it has axes. */
R cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, void *address, const uint64_t *lengths, const uint64_t *strides, const unsigned *box, const unsigned *steps,
                         int interleave, int swizzle, int promotion, int fill) {
	if ((uintptr_t)map % 64 || (type != 6 && type != 9) || rank < 2 || rank > 3 || (uintptr_t)address % 16 || interleave || swizzle != 3 || promotion != 3 || fill) return 1;
	for (unsigned i = 0; i < rank; i++)
		if (lengths[i] == 0 || lengths[i] > 1ull << 32 || box[i] == 0 || box[i] > 256 || steps[i] != 1 || (i && (strides[i - 1] % 16 || strides[i - 1] >= 1ull << 40))) return 1;
	if (box[0] * 2 > 128) return 1;
	uint64_t v[16] = {(uintptr_t)address, type, rank, lengths[0], lengths[1], rank > 2 ? lengths[2] : 0, strides[0], rank > 2 ? strides[1] : 0, box[0], box[1], rank > 2 ? box[2] : 0};
	memcpy(map, v, sizeof v);
	return 0;
}
R cuStreamBeginCapture_v2(H s, int mode) { captured = s == &stream_ && mode == 1; return captured ? 0 : 1; }
R cuStreamEndCapture(H s, H *g) { *g = &graph_; return s == &stream_ && captured ? 0 : 1; }
R cuGraphInstantiateWithFlags(H *e, H g, uint64_t f) { *e = &exec_; return g == &graph_ && f == 0 ? 0 : 1; }
R cuGraphLaunch(H e, H s) { return e == &exec_ && s == &stream_ ? 0 : 1; }
R cuGraphDestroy(H g) { return g == &graph_ ? 0 : 1; }
R cuGraphExecDestroy(H e) { return e == &exec_ ? 0 : 1; }
R cuGetErrorName(R r, const char **s) { *s = r == 218 ? "CUDA_ERROR_INVALID_PTX" : 0; return *s ? 0 : 1; }
R cuGetErrorString(R r, const char **s) { *s = r == 218 ? "a PTX JIT compilation failed" : 0; return *s ? 0 : 1; }
