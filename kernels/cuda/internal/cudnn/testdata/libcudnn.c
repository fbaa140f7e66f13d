// A cuDNN with tensors in host memory: it checks the attributes of each descriptor, counts live objects, and fails the requested call.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *fails = "";
static int at, alive;

void fake_fail(const char *name, int n) { fails = name; at = n; }
int fake_alive(void) { return alive; }

#define CALL(name) \
	if (strcmp(fails, name) == 0 && --at == 0) return 4000

enum { BAD = 2000, NOT_SUPPORTED = 3000 };
enum { POINTWISE, CONVOLUTION, ENGINE, CONFIG, HEURISTICS, PLAN, FORWARD = 10, FILTER, DATA, APPLY, GRAPH = 15, PACK, TENSOR };

struct attribute { int name, type; int64_t count; unsigned char data[256]; };
struct desc { int kind, ready, n, number; struct attribute attributes[12]; struct desc *graph; };
struct handle { int kind; void *stream; };

static const struct attribute *find(const struct desc *d, int name) {
	for (int i = 0; i < d->n; i++)
		if (d->attributes[i].name == name) return &d->attributes[i];
	return 0;
}
static int64_t integer(const struct desc *d, int name, int i) { return ((const int64_t *)find(d, name)->data)[i]; }
static int number(const struct desc *d, int name) { return *(const int *)find(d, name)->data; }
static struct desc *other(const struct desc *d, int name, int i) { return ((struct desc **)find(d, name)->data)[i]; }

size_t cudnnGetVersion(void) { return 92000; }
const char *cudnnGetErrorString(int s) { return s == 4000 ? "CUDNN_STATUS_INTERNAL_ERROR" : s == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM"; }
int cudnnCreate(struct handle **h) { CALL("cudnnCreate"); *h = calloc(1, sizeof **h); (*h)->kind = 1; alive++; return 0; }
int cudnnDestroy(struct handle *h) { CALL("cudnnDestroy"); if (h->kind != 1) return BAD; free(h); alive--; return 0; }
int cudnnSetStream(struct handle *h, void *stream) { CALL("cudnnSetStream"); h->stream = stream; return 0; }

int cudnnBackendCreateDescriptor(int kind, struct desc **d) {
	CALL("cudnnBackendCreateDescriptor");
	if (kind < 0 || kind > TENSOR) return BAD;
	*d = calloc(1, sizeof **d);
	(*d)->kind = kind;
	alive++;
	return 0;
}
int cudnnBackendDestroyDescriptor(struct desc *d) {
	CALL("cudnnBackendDestroyDescriptor");
	if (!d || d->kind < 0) return BAD;
	d->kind = -1;
	free(d);
	alive--;
	return 0;
}

static const int sizes[] = {[0] = 8, [1] = 4, [2] = 1, [3] = 8, [4] = 4, [6] = 8, [7] = 4, [8] = 4, [10] = 4, [11] = 4, [14] = 4, [15] = 8};

// known is an attribute of a kind of descriptor, with its type and number of elements (-1 for any).
static const struct { int kind, name, type, count; } known[] = {
	{POINTWISE, 0, 14, 1}, {POINTWISE, 1, 1, 1}, {POINTWISE, 2, 10, 1}, {CONVOLUTION, 100, 1, 1}, {CONVOLUTION, 101, 7, 1}, {CONVOLUTION, 102, 3, -1}, {CONVOLUTION, 103, 3, -1}, {CONVOLUTION, 104, 3, -1},
	{CONVOLUTION, 105, 3, -1}, {CONVOLUTION, 106, 3, 1}, {HEURISTICS, 200, 8, 1}, {HEURISTICS, 201, 15, 1}, {PLAN, 400, 0, 1}, {PLAN, 401, 15, 1},
	{FORWARD, 700, 4, 1}, {FORWARD, 701, 4, 1}, {FORWARD, 702, 15, 1}, {FORWARD, 703, 15, 1}, {FORWARD, 704, 15, 1}, {FORWARD, 705, 15, 1},
	{DATA, 706, 4, 1}, {DATA, 707, 4, 1}, {DATA, 708, 15, 1}, {DATA, 709, 15, 1}, {DATA, 710, 15, 1}, {DATA, 711, 15, 1},
	{FILTER, 712, 4, 1}, {FILTER, 713, 4, 1}, {FILTER, 714, 15, 1}, {FILTER, 715, 15, 1}, {FILTER, 716, 15, 1}, {FILTER, 717, 15, 1},
	{APPLY, 750, 15, 1}, {APPLY, 751, 15, 1}, {APPLY, 752, 15, 1}, {APPLY, 753, 15, 1}, {GRAPH, 800, 0, 1}, {GRAPH, 801, 15, -1},
	{TENSOR, 900, 3, 1}, {TENSOR, 901, 1, 1}, {TENSOR, 902, 3, -1}, {TENSOR, 903, 3, -1}, {TENSOR, 906, 3, 1}, {TENSOR, 907, 2, 1},
	{PACK, 1000, 3, -1}, {PACK, 1001, 6, -1}, {PACK, 1003, 6, 1},
};

int cudnnBackendSetAttribute(struct desc *d, int name, int type, int64_t count, const void *v) {
	CALL("cudnnBackendSetAttribute");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].kind == d->kind && known[i].name == name && known[i].type == type && (known[i].count < 0 || known[i].count == count)) {
			if (d->ready || d->n == 12 || find(d, name) || count < 1 || count * sizes[type] > 256) return BAD;
			struct attribute *a = &d->attributes[d->n++];
			a->name = name, a->type = type, a->count = count;
			memcpy(a->data, v, count * sizes[type]);
			if (type == 15)
				for (int64_t j = 0; j < count; j++)
					if (!((struct desc *const *)v)[j]->ready) return BAD;
			return 0;
		}
	return BAD;
}

// parts returns the convolution, w, x and y of an operation.
struct parts { const struct desc *c, *w, *x, *y; };
static struct parts parts(const struct desc *o) {
	int first = o->kind == FORWARD ? 700 : o->kind == DATA ? 706 : 712;
	struct parts p = {other(o, first + 2, 0), other(o, first + 3, 0), other(o, first + 4, 0), other(o, first + 5, 0)};
	return p;
}

static int fits(const struct desc *o) {
	struct parts p = parts(o);
	int first = o->kind == FORWARD ? 700 : o->kind == DATA ? 706 : 712;
	float alpha = *(const float *)find(o, first)->data, beta = *(const float *)find(o, first + 1)->data;
	int axes = integer(p.c, 106, 0);
	if (alpha != 1 || beta != 0 || number(p.c, 100) != 0 || number(p.c, 101) != 1 || axes < 2) return 0;
	for (int i = 102; i < 106; i++)
		if (find(p.c, i)->count != axes) return 0;
	if (find(p.x, 902)->count != axes + 2 || find(p.w, 902)->count != axes + 2 || find(p.y, 902)->count != axes + 2) return 0;
	if (integer(p.x, 902, 1) % integer(p.w, 902, 1) || integer(p.w, 902, 0) != integer(p.y, 902, 1) || integer(p.x, 902, 0) != integer(p.y, 902, 0)) return 0;
	for (int i = 0; i < axes; i++) {
		int64_t wide = integer(p.x, 902, i + 2) + integer(p.c, 104, i) + integer(p.c, 105, i) - ((integer(p.w, 902, i + 2) - 1) * integer(p.c, 102, i) + 1);
		if (wide / integer(p.c, 103, i) + 1 != integer(p.y, 902, i + 2)) return 0;
	}
	return 1;
}

int cudnnBackendFinalize(struct desc *d) {
	CALL("cudnnBackendFinalize");
	int needs[] = {[POINTWISE] = 2, [CONVOLUTION] = 7, [HEURISTICS] = 2, [PLAN] = 2, [FORWARD] = 6, [FILTER] = 6, [DATA] = 6, [APPLY] = 3, [GRAPH] = 2, [PACK] = 3, [TENSOR] = 5};
	if (d->ready || d->n < needs[d->kind]) return BAD;
	switch (d->kind) {
	case FORWARD: case FILTER: case DATA:
		if (!fits(d)) return BAD;
		break;
	case TENSOR:
		if (find(d, 902)->count != find(d, 903)->count || integer(d, 900, 0) != 16 || (integer(d, 906, 0) < 0) != (find(d, 907) != 0)) return BAD;
		break;
	case HEURISTICS:
		d->graph = other(d, 201, 0);
		if (number(d, 200) == 0 && integer(parts(other(d->graph, 801, 0)).y, 902, 1) == 11) return NOT_SUPPORTED; // supported only by the other engines
		break;
	case PLAN:
		d->graph = other(d, 401, 0)->graph;
		d->number = other(d, 401, 0)->number;
		if (d->number == 1) return NOT_SUPPORTED;
		break;
	case PACK:
		if (find(d, 1000)->count != find(d, 1001)->count || *(uint64_t *)find(d, 1003)->data != 77) return BAD;
		break;
	}
	d->ready = 1;
	return 0;
}

int cudnnBackendGetAttribute(struct desc *d, int name, int type, int64_t want, int64_t *got, void *to) {
	CALL("cudnnBackendGetAttribute");
	if (d->kind == HEURISTICS && name == 202 && type == 15 && d->ready) {
		*got = want < 5 ? want : 5; // the first four are unacceptable
		for (int i = 0; i < *got; i++) {
			struct desc *c = ((struct desc **)to)[i];
			c->ready = 1, c->number = i, c->graph = d->graph;
		}
		return 0;
	}
	if (d->kind == CONFIG && name == 300 && type == 15 && want == 1) {
		struct desc *e = *(struct desc **)to;
		*got = 1;
		e->ready = 1, e->number = d->number, e->graph = d->graph;
		return 0;
	}
	if (d->kind == ENGINE && name == 1303 && type == 11 && want >= 6) {
		static const int notes[] = {4, 0, 0, 0, 0}; // by engine: nondeterministic, none, more than the caller has room for, none, none
		int strict = number(parts(other(d->graph, 801, 0)).x, 901) == 0;
		*got = d->number == 0 || d->number == 2 || !strict;
		if (*got) *(int *)to = notes[d->number];
		if (d->number == 2) *got = want + 1; // notes that were not requested are undefined
		return 0;
	}
	if (d->kind == PLAN && name == 402 && type == 3 && want == 1) {
		*got = 1;
		*(int64_t *)to = d->number == 3 ? (int64_t)1 << 40 : 1024;
		return 0;
	}
	return BAD;
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
static void put(int type, void *p, int64_t i, float sum) {
	if (type == 0) {
		((float *)p)[i] = sum;
		return;
	}
	uint32_t u; // small integers
	memcpy(&u, &sum, 4);
	((uint16_t *)p)[i] = type == 9 ? u >> 16 : sum == 0 ? 0 : (u >> 16 & 0x8000) | ((u & 0x7fffffff) - (112u << 23)) >> 13;
}

// element returns the address of the element at an index.
static int64_t element(const struct desc *t, const int64_t *index) {
	int64_t n = 0;
	for (int i = 0; i < find(t, 902)->count; i++) n += index[i] * integer(t, 903, i);
	return n;
}
static int64_t size(const struct desc *t) {
	int64_t n = 1;
	for (int i = 0; i < find(t, 902)->count; i++) n *= integer(t, 902, i);
	return n;
}
static void split(const struct desc *t, int64_t n, int64_t *index) {
	for (int i = find(t, 902)->count - 1; i >= 0; i--) {
		index[i] = n % integer(t, 902, i);
		n /= integer(t, 902, i);
	}
}

int cudnnBackendExecute(struct handle *h, struct desc *plan, struct desc *pack) {
	CALL("cudnnBackendExecute");
	if (h->kind != 1 || (uintptr_t)h->stream != 99 || plan->kind != PLAN || !plan->ready || pack->kind != PACK || !pack->ready) return BAD;
	if (plan->number != 4) return BAD;
	const struct desc *o = other(plan->graph, 801, 0);
	int operations = find(plan->graph, 801)->count;
	struct parts p = parts(o);
	void *at[5] = {0};
	for (int i = 0; i < find(pack, 1000)->count; i++) at[integer(pack, 1000, i)] = ((void **)find(pack, 1001)->data)[i];
	int axes = integer(p.c, 106, 0), type = number(p.x, 901);
	const struct desc *result = o->kind == FORWARD ? p.y : o->kind == DATA ? p.x : p.w;
	float *sums = calloc(size(result), sizeof *sums);
	int64_t group = integer(p.w, 902, 1), outs = integer(p.w, 902, 0) / (integer(p.x, 902, 1) / group);
	for (int64_t n = 0; n < size(p.y); n++) {
		int64_t y[5], w[5], x[5];
		split(p.y, n, y);
		int64_t taps = size(p.w) / integer(p.w, 902, 0);
		for (int64_t k = 0; k < taps; k++) {
			split(p.w, y[1] * taps + k, w);
			x[0] = y[0], x[1] = y[1] / outs * group + w[1];
			int inside = 1;
			for (int i = 0; i < axes; i++) {
				x[i + 2] = y[i + 2] * integer(p.c, 103, i) + w[i + 2] * integer(p.c, 102, i) - integer(p.c, 105, i);
				inside &= x[i + 2] >= 0 && x[i + 2] < integer(p.x, 902, i + 2);
			}
			if (!inside) continue;
			int64_t ex = element(p.x, x), ew = element(p.w, w), ey = element(p.y, y);
			if (o->kind == FORWARD) sums[ey] += get(type, at[1], ex) * get(type, at[2], ew);
			if (o->kind == DATA) sums[ex] += get(type, at[3], ey) * get(type, at[2], ew);
			if (o->kind == FILTER) sums[ew] += get(type, at[1], ex) * get(type, at[3], ey);
		}
	}
	void *to = at[o->kind == FORWARD ? 3 : o->kind == DATA ? 1 : 2];
	for (int i = 1; i < operations; i++) {
		const struct desc *a = other(plan->graph, 801, i);
		if (a->kind != APPLY || number(other(a, 750, 0), 1) != 0) return BAD;
		int passes = find(other(a, 750, 0), 2) && number(other(a, 750, 0), 2) == 1; // NaN passes through
		for (int64_t n = 0; n < size(p.y); n++) {
			int64_t y[5];
			split(p.y, n, y);
			float *s = &sums[element(p.y, y)];
			if (number(other(a, 750, 0), 0) == 0) *s += get(type, at[4], y[1] * integer(other(a, 752, 0), 903, 1));
			else if (*s < 0 || (*s != *s && !passes)) *s = 0;
		}
	}
	if (operations > 1 && integer(other(other(plan->graph, 801, operations - 1), 753, 0), 906, 0) != 3) return BAD;
	for (int64_t i = 0; i < size(result); i++) put(type, to, i, sums[i]);
	free(sums);
	return 0;
}
