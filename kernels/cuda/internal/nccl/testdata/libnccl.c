// A libnccl.so.2 for tests of the binding. Ranks are threads or processes, connected by shared memory that is named by the unique id; device memory is host
// memory. Calls return at once, as in the library: each communicator has a thread that does the work in order, and that waits for missing ranks until it is
// aborted. Every argument is checked: a handle that was not created here is an invalid argument (4). NCCL_FAKE_FAIL="call number" makes a call fail.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RANKS 4
#define DEPTH 4
#define BYTES 16384
#define COMMS 64
#define QUEUE 256

typedef struct { char b[128]; } id_;
struct message { int what, type, op, root; size_t count; char data[BYTES]; };
struct box { int begin, end; struct message m[DEPTH]; }; // messages from one rank to another
struct segment { pthread_mutex_t mu; int ready, ranks, joined; struct box boxes[RANKS][RANKS]; };
struct job { int what, type, op, root; size_t count; const char *in; char *out; };
struct comm {
	struct segment *s; char name[32]; int rank, ranks, live, state, stop, finalized;
	pthread_t thread; pthread_mutex_t mu; struct job jobs[QUEUE]; int begin, end;
};
static struct comm comms[COMMS];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static char last[200];
static __thread int depth, held;
static __thread struct { struct comm *c; struct job j; } group[QUEUE];

static int fails(const char *call) {
	static int seen;
	const char *want = getenv("NCCL_FAKE_FAIL");
	size_t n = strlen(call);
	if (!want || strncmp(want, call, n) || want[n] != ' ') return 0;
	if (__sync_add_and_fetch(&seen, 1) != atoi(want + n + 1)) return 0;
	snprintf(last, sizeof last, "%s was asked to fail", call);
	return 1;
}
static void rest(void) { struct timespec t = {0, 200000}; nanosleep(&t, 0); }
static struct comm *find(struct comm *c) {
	if (c < comms || c >= comms + COMMS || ((char *)c - (char *)comms) % sizeof *c || !c->live) { snprintf(last, sizeof last, "no such communicator"); return 0; }
	return c;
}
static int get(struct comm *c, int *p) { pthread_mutex_lock(&c->mu); int v = *p; pthread_mutex_unlock(&c->mu); return v; }

int ncclGetVersion(int *v) { *v = 22907; return 0; }
const char *ncclGetErrorString(int r) { return r == 0 ? "no error" : r == 4 ? "invalid argument" : r == 5 ? "invalid usage" : r == 6 ? "remote process exited or there was a network error" : "internal error"; }
const char *ncclGetLastError(void *c) { return last; }
int ncclGetUniqueId(id_ *id) {
	static int k;
	if (fails("ncclGetUniqueId")) return 2;
	for (int i = 0; i < 128; i++) id->b[i] = i; // all of it must be passed back
	memset(id->b, 0, 32);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	snprintf(id->b, 32, "/nccl-%d-%d-%lx", getpid(), __sync_add_and_fetch(&k, 1), (long)t.tv_nsec);
	return 0;
}

static struct segment *map(const char *name, int ranks) {
	int own = 1, fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0) { own = 0; fd = shm_open(name, O_RDWR, 0600); }
	if (fd < 0 || (own && ftruncate(fd, sizeof(struct segment)))) return 0;
	for (struct stat st; !own && fstat(fd, &st) == 0 && st.st_size < (long)sizeof(struct segment);) rest();
	struct segment *s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (own) {
		pthread_mutexattr_t m;
		pthread_mutexattr_init(&m); pthread_mutexattr_setpshared(&m, 1); pthread_mutex_init(&s->mu, &m);
		s->ranks = ranks;
		__sync_synchronize(); s->ready = 1;
	}
	while (!__sync_fetch_and_add(&s->ready, 0)) rest();
	return s;
}

// put and take move a message; 0, or 1 after an abort.
static int put(struct comm *c, int to, struct job *j, const char *from, size_t bytes) {
	struct box *b = &c->s->boxes[c->rank][to];
	for (;; rest()) {
		pthread_mutex_lock(&c->s->mu);
		if (b->end - b->begin < DEPTH) break;
		pthread_mutex_unlock(&c->s->mu);
		if (get(c, &c->stop)) return 1;
	}
	struct message *m = &b->m[b->end++ % DEPTH];
	m->what = j->what; m->type = j->type; m->op = j->op; m->root = j->root; m->count = j->count;
	memcpy(m->data, from, bytes);
	pthread_mutex_unlock(&c->s->mu);
	return 0;
}
static int take(struct comm *c, int from, struct message *to) {
	struct box *b = &c->s->boxes[from][c->rank];
	for (;; rest()) {
		pthread_mutex_lock(&c->s->mu);
		if (b->end > b->begin) break;
		pthread_mutex_unlock(&c->s->mu);
		if (get(c, &c->stop)) return 1;
	}
	*to = b->m[b->begin++ % DEPTH];
	pthread_mutex_unlock(&c->s->mu);
	return 0;
}

static const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
#define COMBINE(T) for (size_t i = 0; i < n; i++) { T *x = (T *)a, y = ((T *)b)[i]; x[i] = op == 0 ? x[i] + y : op == 1 ? x[i] * y : op == 2 ? (x[i] > y ? x[i] : y) : (x[i] < y ? x[i] : y); } break;
static float wide(uint16_t v) { uint32_t u = (uint32_t)v << 16; float f; memcpy(&f, &u, 4); return f; }
static void combine(char *a, const char *b, size_t n, int type, int op) {
	switch (type) {
	case 0: COMBINE(int8_t) case 1: COMBINE(uint8_t) case 2: COMBINE(int32_t) case 3: COMBINE(uint32_t) case 4: COMBINE(int64_t) case 5: COMBINE(uint64_t)
	case 7: COMBINE(float) case 8: COMBINE(double)
	case 9: for (size_t i = 0; i < n; i++) { float f = wide(((uint16_t *)a)[i]) + wide(((uint16_t *)b)[i]); uint32_t u; memcpy(&u, &f, 4); ((uint16_t *)a)[i] = u >> 16; }
	}
}
enum { ALLREDUCE, BROADCAST, REDUCE, ALLGATHER, REDUCESCATTER, SEND, RECV };
static int work(struct comm *c, struct job *j) {
	static __thread struct message all[RANKS];
	size_t unit = sizes[j->type], bytes = j->count * unit, whole = j->what == REDUCESCATTER ? bytes * c->ranks : bytes;
	if (j->what == SEND) return put(c, j->root, j, j->in, bytes);
	if (j->what == RECV) {
		if (take(c, j->root, &all[0])) return 1;
		memcpy(j->out, all[0].data, bytes);
		return all[0].what == SEND && all[0].count == j->count && all[0].type == j->type ? 0 : 5;
	}
	for (int r = 0; r < c->ranks; r++) if (put(c, r, j, j->in, whole)) return 1;
	for (int r = 0; r < c->ranks; r++) {
		if (take(c, r, &all[r])) return 1;
		struct message *m = &all[r];
		if (m->what != j->what || m->type != j->type || m->op != j->op || m->root != j->root || m->count != j->count) { snprintf(last, sizeof last, "rank %d makes another call", r); return 5; }
	}
	switch (j->what) {
	case BROADCAST: memcpy(j->out, all[j->root].data, bytes); break;
	case ALLGATHER: for (int r = 0; r < c->ranks; r++) memcpy(j->out + r * bytes, all[r].data, bytes); break;
	default: {
		size_t at = j->what == REDUCESCATTER ? c->rank * bytes : 0;
		if (j->what == REDUCE && j->root != c->rank) break;
		memcpy(j->out, all[0].data + at, bytes);
		for (int r = 1; r < c->ranks; r++) combine(j->out, all[r].data + at, j->count, j->type, j->op);
	}
	}
	return 0;
}
static void *serve(void *p) {
	struct comm *c = p;
	if (!(c->s = map(c->name, c->ranks)) || c->s->ranks != c->ranks) { pthread_mutex_lock(&c->mu); c->state = 2; c->stop = 1; pthread_mutex_unlock(&c->mu); return 0; }
	__sync_add_and_fetch(&c->s->joined, 1);
	while (__sync_fetch_and_add(&c->s->joined, 0) < c->ranks && !get(c, &c->stop)) rest();
	shm_unlink(c->name); // the first rank does it; no others will connect
	pthread_mutex_lock(&c->mu);
	c->state = 0;
	while (!c->stop) {
		if (c->begin == c->end) { pthread_mutex_unlock(&c->mu); rest(); pthread_mutex_lock(&c->mu); continue; }
		struct job j = c->jobs[c->begin % QUEUE];
		pthread_mutex_unlock(&c->mu);
		int r = work(c, &j);
		pthread_mutex_lock(&c->mu);
		if (r > 1) c->state = r;
		if (r) break;
		c->begin++;
	}
	pthread_mutex_unlock(&c->mu);
	return 0;
}

struct config { size_t size; unsigned magic, version; int blocking; };
int ncclCommInitRankConfig(struct comm **out, int ranks, id_ id, int rank, struct config *o) {
	if (fails("ncclCommInitRankConfig")) return 2;
	for (int i = 32; i < 128; i++) if (id.b[i] != (char)i) { snprintf(last, sizeof last, "byte %d of the id is %d", i, id.b[i]); return 4; }
	if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks || o->size != 24 || o->magic != 0xcafebeef || o->version < 21400 || o->blocking != 0) return 4;
	pthread_mutex_lock(&table);
	struct comm *c = 0;
	for (int i = 0; i < COMMS && !c; i++) if (!comms[i].live) c = &comms[i];
	memset(c, 0, sizeof *c);
	c->live = 1; c->rank = rank; c->ranks = ranks; c->state = 7; memcpy(c->name, id.b, 31);
	pthread_mutex_init(&c->mu, 0);
	pthread_create(&c->thread, 0, serve, c);
	pthread_mutex_unlock(&table);
	*out = c;
	return 7;
}
int ncclCommGetAsyncError(struct comm *c, int *state) {
	if (fails("ncclCommGetAsyncError")) return 3;
	if (!find(c)) return 4;
	*state = get(c, &c->state);
	return 0;
}
static int submit(struct comm *c, struct job *j) {
	pthread_mutex_lock(&c->mu);
	int r = c->finalized ? 5 : c->state == 7 ? 5 : 0;
	if (!r) c->jobs[c->end++ % QUEUE] = *j;
	pthread_mutex_unlock(&c->mu);
	return r;
}
int ncclGroupStart(void) { if (fails("ncclGroupStart")) return 3; depth++; return 0; }
int ncclGroupEnd(void) {
	if (depth == 0) return 5;
	if (--depth) return 0;
	int r = fails("ncclGroupEnd") ? 3 : 0, n = held;
	held = 0;
	for (int i = 0; i < n && !r; i++) r = submit(group[i].c, &group[i].j); // a send does not wait while its box has room
	return r ? r : 7;
}
static int call(const char *name, int what, const void *in, void *out, size_t count, int type, int op, int root, struct comm *c, void *stream) {
	if (fails(name)) return 3;
	if (!find(c) || type < 0 || type > 9 || op < 0 || op > 4 || root < 0 || root >= c->ranks || stream != (void *)0x5712ea || (what != RECV && !in) || (what != SEND && !out)) return 4;
	if (count * sizes[type] * (what == REDUCESCATTER ? c->ranks : 1) > BYTES) return 4;
	struct job j = {what, type, op, root, count, in, out};
	if (!depth) return submit(c, &j);
	group[held].c = c; group[held++].j = j;
	return 0;
}
int ncclAllReduce(const void *in, void *out, size_t n, int t, int op, struct comm *c, void *s) { return call("ncclAllReduce", ALLREDUCE, in, out, n, t, op, 0, c, s); }
int ncclBroadcast(const void *in, void *out, size_t n, int t, int root, struct comm *c, void *s) { return call("ncclBroadcast", BROADCAST, in, out, n, t, 0, root, c, s); }
int ncclReduce(const void *in, void *out, size_t n, int t, int op, int root, struct comm *c, void *s) { return call("ncclReduce", REDUCE, in, out, n, t, op, root, c, s); }
int ncclAllGather(const void *in, void *out, size_t n, int t, struct comm *c, void *s) { return call("ncclAllGather", ALLGATHER, in, out, n, t, 0, 0, c, s); }
int ncclReduceScatter(const void *in, void *out, size_t n, int t, int op, struct comm *c, void *s) { return call("ncclReduceScatter", REDUCESCATTER, in, out, n, t, op, 0, c, s); }
int ncclSend(const void *in, size_t n, int t, int peer, struct comm *c, void *s) { return call("ncclSend", SEND, in, 0, n, t, 0, peer, c, s); }
int ncclRecv(void *out, size_t n, int t, int peer, struct comm *c, void *s) { return call("ncclRecv", RECV, 0, out, n, t, 0, peer, c, s); }

static int end(struct comm *c) {
	pthread_mutex_lock(&c->mu); c->stop = 1; pthread_mutex_unlock(&c->mu);
	pthread_join(c->thread, 0);
	if (c->s) munmap(c->s, sizeof *c->s);
	c->live = 0;
	return 0;
}
int ncclCommFinalize(struct comm *c) {
	if (fails("ncclCommFinalize")) return 3;
	if (!find(c)) return 4;
	pthread_mutex_lock(&c->mu); c->finalized = 1; pthread_mutex_unlock(&c->mu);
	return 7;
}
int ncclCommDestroy(struct comm *c) { return !find(c) || !c->finalized ? 4 : end(c); }
int ncclCommAbort(struct comm *c) { return find(c) ? end(c) : 4; }

// For tests: whether all work of a communicator is done, and how many communicators are alive.
int fake_idle(struct comm *c) { pthread_mutex_lock(&c->mu); int yes = c->begin == c->end || c->state > 0; pthread_mutex_unlock(&c->mu); return yes; }
int fake_alive(void) { int n = 0; for (int i = 0; i < COMMS; i++) n += comms[i].live; return n; }
