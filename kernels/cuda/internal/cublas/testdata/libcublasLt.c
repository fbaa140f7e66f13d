// A cuBLASLt with matrices in host memory: it checks the arguments of each call, counts live objects, and fails the requested call.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *fails = "";
static int at, alive;

void fake_fail(const char *name, int n) { fails = name; at = n; }
int fake_alive(void) { return alive; }

#define CALL(name) \
	if (strcmp(fails, name) == 0 && --at == 0) return 14

enum { INVALID = 7, NOT_SUPPORTED = 15 };

struct desc { int kind, compute, scale, op[2]; };
struct layout { int kind, type, count; uint64_t rows, cols; int64_t ld, stride; };
struct pref { int kind; uint64_t bytes; uint32_t reductions; };
struct algo { uint64_t data[8]; };
struct result { struct algo algo; size_t bytes; int state; float waves; int reserved[4]; };

static void *make(size_t n, int kind) { int *p = calloc(1, n); *p = kind; alive++; return p; }
static int drop(void *p, int kind) { if (!p || *(int *)p != kind) return INVALID; *(int *)p = 0; free(p); alive--; return 0; }

size_t cublasLtGetVersion(void) { return 120405; }
int cublasLtCreate(void **h) { CALL("cublasLtCreate"); *h = make(16, 1); return 0; }
int cublasLtDestroy(void *h) { CALL("cublasLtDestroy"); return drop(h, 1); }

int cublasLtMatmulDescCreate(struct desc **d, int compute, int scale) {
	CALL("cublasLtMatmulDescCreate");
	if ((compute != 68 && compute != 77) || scale != 0) return INVALID;
	*d = make(sizeof **d, 2);
	(*d)->compute = compute;
	return 0;
}
int cublasLtMatmulDescDestroy(struct desc *d) { CALL("cublasLtMatmulDescDestroy"); return drop(d, 2); }
int cublasLtMatmulDescSetAttribute(struct desc *d, int attr, const int *v, size_t n) {
	CALL("cublasLtMatmulDescSetAttribute");
	if (d->kind != 2 || (attr != 3 && attr != 4) || n != 4 || *v > 1) return INVALID;
	d->op[attr - 3] = *v;
	return 0;
}

int cublasLtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
	CALL("cublasLtMatrixLayoutCreate");
	if ((type != 0 && type != 2 && type != 14) || !rows || !cols || ld < (int64_t)rows) return INVALID;
	*l = make(sizeof **l, 3);
	(*l)->type = type, (*l)->rows = rows, (*l)->cols = cols, (*l)->ld = ld, (*l)->count = 1;
	return 0;
}
int cublasLtMatrixLayoutDestroy(struct layout *l) { CALL("cublasLtMatrixLayoutDestroy"); return drop(l, 3); }
int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attr, const void *v, size_t n) {
	CALL("cublasLtMatrixLayoutSetAttribute");
	if (l->kind != 3) return INVALID;
	if (attr == 5 && n == 4) return l->count = *(const int32_t *)v, 0;
	if (attr == 6 && n == 8) return l->stride = *(const int64_t *)v, 0;
	return INVALID;
}

int cublasLtMatmulPreferenceCreate(struct pref **p) { CALL("cublasLtMatmulPreferenceCreate"); *p = make(sizeof **p, 4); return 0; }
int cublasLtMatmulPreferenceDestroy(struct pref *p) { CALL("cublasLtMatmulPreferenceDestroy"); return drop(p, 4); }
int cublasLtMatmulPreferenceSetAttribute(struct pref *p, int attr, const void *v, size_t n) {
	CALL("cublasLtMatmulPreferenceSetAttribute");
	if (p->kind != 4) return INVALID;
	if (attr == 1 && n == 8) return p->bytes = *(const uint64_t *)v, 0;
	if (attr == 3 && n == 4) return p->reductions = *(const uint32_t *)v, 0;
	return INVALID;
}

// fits reports whether the matrices have the shapes of a product of m by n by k.
static int fits(const struct desc *d, const struct layout *a, const struct layout *b, const struct layout *c) {
	uint64_t k = d->op[0] ? a->rows : a->cols, m = d->op[0] ? a->cols : a->rows;
	return d->kind == 2 && a->kind == 3 && b->kind == 3 && c->kind == 3 && m == c->rows && k == (d->op[1] ? b->cols : b->rows) && (d->op[1] ? b->rows : b->cols) == c->cols &&
		a->type == b->type && (c->type == a->type || c->type == 0) && a->count == c->count && b->count == c->count && (d->compute == 68 || a->type == 0);
}

int cublasLtMatmulAlgoGetHeuristic(int *h, struct desc *d, struct layout *a, struct layout *b, struct layout *c, struct layout *e, struct pref *p, int want, struct result *r, int *got) {
	CALL("cublasLtMatmulAlgoGetHeuristic");
	if (*h != 1 || p->kind != 4 || p->bytes == 0 || p->reductions & 1 || want != 1 || c != e || !fits(d, a, b, c)) return INVALID;
	*got = c->rows != 13; // a shape without an algorithm
	memset(r, 0, sizeof *r);
	memset(&r->algo, 0x5a, sizeof r->algo);
	r->bytes = p->bytes;
	r->state = c->rows == 11 ? NOT_SUPPORTED : 0;
	return 0;
}

static float half(uint16_t x) {
	uint32_t bits = (uint32_t)(x & 0x8000) << 16 | ((uint32_t)(x & 0x7fff) << 13) + (112u << 23);
	float f;
	memcpy(&f, &bits, 4);
	return x & 0x7fff ? f : 0;
}
static float get(int type, const void *p, int64_t i) {
	if (type == 0) return ((const float *)p)[i];
	uint16_t x = ((const uint16_t *)p)[i];
	if (type == 2) return half(x);
	uint32_t bits = (uint32_t)x << 16;
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

int cublasLtMatmul(int *h, struct desc *d, const float *alpha, const void *A, struct layout *a, const void *B, struct layout *b, const float *beta, const void *C, struct layout *c, void *D,
	struct layout *e, const struct algo *algo, void *workspace, size_t bytes, void *stream) {
	CALL("cublasLtMatmul");
	if (*h != 1 || *alpha != 1 || *beta != 0 || C != D || c != e || algo->data[7] != 0x5a5a5a5a5a5a5a5a || bytes != 32 << 20 || (uintptr_t)workspace != 77 || (uintptr_t)stream != 99 || !fits(d, a, b, c))
		return INVALID;
	uint64_t depth = d->op[0] ? a->rows : a->cols;
	for (int n = 0; n < c->count; n++)
		for (uint64_t i = 0; i < c->rows; i++)
			for (uint64_t j = 0; j < c->cols; j++) {
				float sum = 0;
				for (uint64_t k = 0; k < depth; k++) {
					int64_t x = d->op[0] ? k + i * a->ld : i + k * a->ld, y = d->op[1] ? j + k * b->ld : k + j * b->ld;
					sum += get(a->type, A, x + n * a->stride) * get(b->type, B, y + n * b->stride);
				}
				int64_t to = i + j * c->ld + n * c->stride;
				if (c->type == 0) ((float *)D)[to] = sum;
				else {
					uint32_t u; // small integers
					memcpy(&u, &sum, 4);
					((uint16_t *)D)[to] = c->type == 14 ? u >> 16 : sum == 0 ? 0 : (u >> 16 & 0x8000) | ((u & 0x7fffffff) - (112u << 23)) >> 13;
				}
			}
	return 0;
}
