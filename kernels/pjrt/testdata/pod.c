// A PJRT plugin for tests: hosts of a pod. It stands before the plugin for CPUs that POD_PLUGIN names, and gives each of several processes POD_DEVICES devices
// of one machine. The processes find each other through the key-value callbacks of PJRT_Client_Create. For a run of all of them each sends its arguments to the
// others, and computes all replicas. POD_HANG: what waits for a host that is lost waits for ever, as devices do; without, it fails. POD_ASLEEP is the number of a
// host that never opens its devices.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TAIL 128
#define HOSTS 16
#define MAGIC 0x706f64206572726full

typedef struct error { uint64_t magic; int code; char message[200]; } error;

static uint64_t *real, table[512];
static int hosts = 1, host, process, each, peers[HOSTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t word(const void *p) { return (uint64_t)(uintptr_t)p; }
static void *object(uint64_t w) { return (void *)(uintptr_t)w; }

// call calls the plugin behind. Blocks of arguments have a tail of zeros, as it may know longer ones.
#define BLOCK(name, words) uint64_t name[(words) + TAIL / 8] = {8 * (words) + TAIL}
static void *call(int offset, uint64_t *block) { return ((void *(*)(uint64_t *))object(real[offset / 8]))(block); }
static uint64_t ask(int offset, uint64_t thing) {
	BLOCK(b, 4);
	b[2] = thing;
	if (call(offset, b)) abort();
	return b[3];
}
static void drop(int offset, uint64_t thing) {
	BLOCK(b, 3);
	b[2] = thing;
	if (thing) call(offset, b);
}
static void await(uint64_t event) {
	BLOCK(b, 3);
	b[2] = event;
	if (event && call(104, b)) abort();
	drop(80, event);
}

static void *fail(int code, const char *message, size_t size) {
	error *e = calloc(1, sizeof *e);
	e->magic = MAGIC, e->code = code;
	snprintf(e->message, sizeof e->message, "%.*s", (int)size, message);
	return e;
}
static void *say(int code, const char *format, int number) {
	char text[200];
	snprintf(text, sizeof text, format, number);
	return fail(code, text, strlen(text));
}
static int own_error(uint64_t e) { return ((error *)object(e))->magic == MAGIC; }
static void error_destroy(uint64_t *a) { if (own_error(a[2])) free(object(a[2])); else call(40, a); }
static void error_message(uint64_t *a) {
	if (!own_error(a[2])) { call(48, a); return; }
	error *e = object(a[2]);
	a[3] = word(e->message), a[4] = strlen(e->message);
}
static void *error_code(uint64_t *a) {
	if (!own_error(a[2])) return call(56, a);
	*(int *)&a[3] = ((error *)object(a[2]))->code;
	return NULL;
}

// What the processes send each other.
static int put(int to, const void *data, size_t n) {
	for (const char *p = data; n > 0;) {
		ssize_t k = send(to, p, n, MSG_NOSIGNAL);
		if (k <= 0) return 0;
		p += k, n -= k;
	}
	return 1;
}
static int get(int from, void *data, size_t n) {
	for (char *p = data; n > 0;) {
		ssize_t k = recv(from, p, n, 0);
		if (k <= 0) return 0;
		p += k, n -= k;
	}
	return 1;
}
static void *lost(int number) {
	if (getenv("POD_HANG")) for (;;) pause();
	return say(14, "the connection to host %d of the pod broke", number);
}

// The key-value callbacks.
static void *(*error_maker)(int, const char *, size_t) = fail;
static void *kv_put(uint64_t *a, const char *key, const char *value) {
	uint64_t b[8] = {64, 0, word(key), strlen(key), word(value), strlen(value), word(&error_maker), a[7]};
	return ((void *(*)(uint64_t *))object(a[6]))(b);
}
static void *kv_get(uint64_t *a, const char *key, int milliseconds, char *into, size_t room) {
	uint64_t b[10] = {80, 0, word(key), strlen(key), (uint64_t)milliseconds, word(&error_maker), a[5]};
	void *e = ((void *(*)(uint64_t *))object(a[4]))(b);
	if (e) return e;
	snprintf(into, room, "%.*s", (int)b[8], (char *)object(b[7]));
	((void (*)(uint64_t))object(b[9]))(b[7]);
	return NULL;
}
static void *kv_try(uint64_t *a, const char *key, int want) {
	uint64_t b[9] = {72, 0, word(key), strlen(key), word(&error_maker), a[10]};
	error *e = ((void *(*)(uint64_t *))object(a[9]))(b);
	if (e ? want || e->code != 5 : !want) return say(13, "a key of host %d that nobody put, or did put, was found otherwise", host);
	if (!e) ((void (*)(uint64_t))object(b[8]))(b[6]);
	free(e);
	return NULL;
}

// meet connects this process with the others.
static void *meet(uint64_t *a) {
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	if (bind(listener, (void *)&at, size) || listen(listener, HOSTS) || getsockname(listener, (void *)&at, &size)) return say(13, "host %d cannot listen", host);
	char key[32], text[32];
	sprintf(key, "pod/%d", host), sprintf(text, "%d", ntohs(at.sin_port));
	void *e = kv_try(a, "pod/nobody", 0);
	if (e || (e = kv_put(a, key, text)) || (e = kv_try(a, key, 1))) return e;
	for (int i = 0; i < host; i++) {
		sprintf(key, "pod/%d", i);
		if ((e = kv_get(a, key, 60000, text, sizeof text))) return e;
		at.sin_port = htons(atoi(text)), peers[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(peers[i], (void *)&at, sizeof at) || !put(peers[i], &host, sizeof host)) return say(14, "host %d of the pod cannot be reached", i);
	}
	for (int i = host + 1; i < hosts; i++) {
		int other, s = accept(listener, NULL, NULL);
		if (s < 0 || !get(s, &other, sizeof other)) return say(14, "host %d of the pod does not come", i);
		peers[other] = s;
	}
	close(listener);
	return NULL;
}

static void *client_create(uint64_t *a) {
	for (uint64_t i = 0; i < a[3]; i++) {
		uint64_t *o = (uint64_t *)object(a[2]) + 7 * i;
		if (o[3] == 7 && !memcmp(object(o[2]), "node_id", 7)) host = (int)o[5];
		if (o[3] == 9 && !memcmp(object(o[2]), "num_nodes", 9)) hosts = (int)o[5];
	}
	process = hosts - 1 - host; // the numbers of processes are not those of hosts
	if (getenv("POD_ASLEEP") && atoi(getenv("POD_ASLEEP")) == host) for (;;) pause();
	if (hosts > 1) {
		if (!a[4] || !a[6] || !a[9]) return say(3, "host %d was given no key-value callbacks", host);
		void *e = meet(a);
		if (e) return e;
	}
	uint64_t option[7] = {56, 0, word("cpu_device_count"), 16, 1, (uint64_t)(hosts * each), 1};
	BLOCK(b, 11);
	b[2] = word(option), b[3] = 1;
	void *e = call(120, b);
	a[8] = b[8];
	return e;
}
static void *process_index(uint64_t *a) {
	*(int *)&a[3] = process;
	return NULL;
}
static int number_of(uint64_t device) { return (int)ask(224, ask(272, device)); }
static void *addressable(uint64_t *a) {
	void *e = call(168, a);
	uint64_t *all = object(a[3]);
	if (e || hosts == 1) return e;
	a[3] = word(all + process * each), a[4] = each;
	return number_of(all[process * each]) == process * each ? NULL : say(13, "the devices of host %d are not where they should be", host);
}
static void *description_process(uint64_t *a) {
	*(int *)&a[3] = (int)ask(224, a[2]) / each;
	return NULL;
}

// hand sends an argument, and receive makes one of what another process sent.
static int hand(int to, uint64_t buffer) {
	BLOCK(shape, 5);
	BLOCK(copy, 7);
	shape[2] = copy[2] = buffer;
	uint64_t type = ask(512, buffer) & 0xffffffff;
	if (call(520, shape) || call(600, copy)) abort();
	uint64_t head[3] = {type, shape[4], copy[5]};
	char *data = malloc(copy[5] + 1);
	copy[4] = word(data);
	if (call(600, copy)) abort();
	await(copy[6]);
	int ok = put(to, head, sizeof head) && put(to, object(shape[3]), 8 * shape[4]) && put(to, data, head[2]);
	free(data);
	return ok;
}
static int receive(int from, uint64_t client, uint64_t device, uint64_t *buffer) {
	uint64_t head[3], shape[16];
	if (!get(from, head, sizeof head) || head[1] > 16 || !get(from, shape, 8 * head[1])) return 0;
	char *data = malloc(head[2] + 1);
	BLOCK(b, 15);
	b[2] = client, b[3] = word(data), b[4] = head[0], b[5] = word(shape), b[6] = head[1], b[10] = device;
	int ok = get(from, data, head[2]);
	if (ok && call(216, b)) abort();
	if (ok) await(b[13]), *buffer = b[14];
	free(data);
	return ok;
}

static uint64_t the_client;
static void *keep_client(uint64_t *a) {
	void *e = client_create(a);
	the_client = a[8];
	return e;
}

static void *execute(uint64_t *a) {
	BLOCK(devices, 5);
	devices[2] = a[2];
	if (call(456, devices)) abort();
	uint64_t n = devices[4], local = a[5], inputs = a[6], *where = object(devices[3]), **given = object(a[4]), **wanted = object(a[7]);
	if (n == local) return call(480, a);
	uint64_t code = ask(448, a[2]), outputs = ask(392, code), *arguments[n], *results[n];
	drop(360, code);
	pthread_mutex_lock(&lock);
	for (uint64_t r = 0, own = 0; r < n; r++) {
		results[r] = calloc(outputs + 1, 8);
		arguments[r] = number_of(where[r]) / each == process ? given[own++] : calloc(inputs + 1, 8);
	}
	void *e = NULL;
	for (int pair = 0; pair < hosts * hosts && !e; pair++) { // all in one order, so that none waits for one that waits for it
		int x = pair / hosts, y = pair % hosts;
		if (x == y || (x != host && y != host)) continue;
		int other = x == host ? y : x;
		for (uint64_t r = 0; r < n && !e; r++) {
			int owner = hosts - 1 - number_of(where[r]) / each;
			for (uint64_t i = 0; i < inputs && !e; i++) {
				if (owner == host && x == host && !hand(peers[other], arguments[r][i])) e = lost(other);
				if (owner == other && x == other && !receive(peers[other], the_client, where[r], &arguments[r][i])) e = lost(other);
			}
		}
	}
	if (!e) {
		BLOCK(b, 10);
		memcpy(b + 2, a + 2, 8 * 8);
		b[4] = word(arguments), b[5] = n, b[7] = word(results);
		e = call(480, b);
	}
	for (uint64_t r = 0, own = 0; r < n; r++) {
		if (number_of(where[r]) / each == process) {
			if (!e) memcpy(wanted[own], results[r], 8 * outputs);
			own++;
		} else {
			for (uint64_t i = 0; i < inputs; i++) drop(504, arguments[r][i]);
			for (uint64_t i = 0; i < outputs; i++) drop(504, results[r][i]);
			free(arguments[r]);
		}
		free(results[r]);
	}
	pthread_mutex_unlock(&lock);
	return e;
}

void *GetPjrtApi(void) {
	void *library = dlopen(getenv("POD_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	if (!library) return NULL;
	real = ((void *(*)(void))dlsym(library, "GetPjrtApi"))();
	each = atoi(getenv("POD_DEVICES"));
	memcpy(table, real, real[0]);
	const struct { int offset; void *function; } all[] = {
		{40, error_destroy}, {48, error_message}, {56, error_code}, {120, keep_client}, {144, process_index}, {168, addressable}, {232, description_process}, {480, execute},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) table[all[i].offset / 8] = word(all[i].function);
	return table;
}
