// A PJRT plugin for tests: it computes nothing (an output that replaces an input is that input, another is zeros), counts what is alive, and fails the
// call that it is told to.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 2
#define ENTRIES 160
#define RESULTS 200

typedef struct error { int code; const char *message; } error;
typedef struct device { int id; } device;
typedef struct memory { int id; const char *kind; device *of; } memory;
typedef struct buffer { device *place; size_t bytes; int taken; char *data; } buffer;
typedef struct executable { int outputs; struct { long bytes; int alias; } output[RESULTS]; } executable;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long alive[5]; // errors, events, clients, executables, buffers
enum { ERRORS, EVENTS, CLIENTS, EXECUTABLES, BUFFERS };
static int calls[ENTRIES], fail_entry = -1, fail_call, more; // more: bytes that arguments must have beyond those known here
static int host; // the memory of the devices is the host's
static device devices[DEVICES] = {{0}, {1}};
static memory memories[2 * DEVICES] = {{0, "device", &devices[0]}, {1, "pinned_host", &devices[0]}, {2, "device", &devices[1]}, {3, "pinned_host", &devices[1]}};
static uint64_t table[ENTRIES];

static long count(int what, int by) {
	pthread_mutex_lock(&lock);
	long n = alive[what] += by;
	pthread_mutex_unlock(&lock);
	return n;
}

static void *made(int what, size_t size) {
	count(what, 1);
	return calloc(1, size);
}

static void *gone(int what, void *object) {
	count(what, -1);
	free(object);
	return NULL;
}

static error *fail(int code, const char *message) {
	error *e = made(ERRORS, sizeof *e);
	e->code = code, e->message = message;
	return e;
}

// enter counts a call and fails it where that is wanted.
static error *enter(int offset, uint64_t *a, size_t need) {
	pthread_mutex_lock(&lock);
	int n = ++calls[offset / 8];
	pthread_mutex_unlock(&lock);
	if (a[0] < need + more) return fail(3, "the arguments are too short");
	if (offset == fail_entry && n == fail_call) return fail(13, "injected");
	return NULL;
}

#define CALL(name, offset, need) static error *name(uint64_t *a) { const int at = offset; error *failed = enter(at, a, need); if (failed) return failed;
#define END return NULL; }

static uint64_t words(const char *s) { return (uint64_t)(uintptr_t)s; }
static void *object(uint64_t w) { return (void *)(uintptr_t)w; }
static uint64_t event(void) { return (uint64_t)(uintptr_t)made(EVENTS, 1); }

// after is the text behind the next occurrence of a word before an end, or NULL.
static const char *after(const char *text, const char *word, const char *end) {
	const char *found = text ? strstr(text, word) : NULL;
	return found && found < end ? found + strlen(word) : NULL;
}

// signature reads what the results of a module are: their bytes, and the arguments that they replace.
static void signature(executable *e, const char *code) {
	static const char *names[] = {"i1>", "i8>", "ui8>", "i16>", "ui16>", "f16>", "bf16>", "i32>", "ui32>", "f32>", "i64>", "ui64>", "f64>"};
	static const int sizes[] = {1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8};
	const char *first = strstr(code, "@main("), *results = strstr(first, ") -> "), *end = strchr(results, '\n');
	for (const char *t = after(results, "tensor<", end); t; t = after(t, "tensor<", end)) {
		long bytes = 1, n;
		int used;
		while (sscanf(t, "%ldx%n", &n, &used) == 1) bytes *= n, t += used;
		for (int i = 0; i < 13; i++)
			if (!strncmp(t, names[i], strlen(names[i]))) bytes *= sizes[i];
		if (e->outputs == RESULTS) abort();
		e->output[e->outputs].bytes = bytes, e->output[e->outputs++].alias = -1;
	}
	int argument = 0, output;
	for (const char *t = after(first, "%arg", results); t; t = after(t, "%arg", results), argument++) {
		const char *next = after(t, "%arg", results), *alias = after(t, "tf.aliasing_output = ", next ? next : results);
		if (alias && sscanf(alias, "%d", &output) == 1) e->output[output].alias = argument;
	}
}

// Calls about errors return nothing, so they cannot fail.
static void error_destroy(uint64_t *a) { gone(ERRORS, object(a[2])); }
static void error_message(uint64_t *a) { error *e = object(a[2]); a[3] = words(e->message); a[4] = strlen(e->message); }
static error *error_code(uint64_t *a) { *(int *)&a[3] = ((error *)object(a[2]))->code; return NULL; }

CALL(initialize, 64, 16) END
CALL(attributes, 72, 32) a[2] = 0, a[3] = 0; END
CALL(event_destroy, 80, 24) gone(EVENTS, object(a[2])); END
CALL(event_ready, 88, 25) *(char *)&a[3] = 1; END
CALL(event_await, 104, 24) END
CALL(client_create, 120, 72) a[8] = (uint64_t)(uintptr_t)made(CLIENTS, 1); END
CALL(client_destroy, 128, 24) gone(CLIENTS, object(a[2])); END
CALL(platform_name, 136, 40) a[3] = words("fake"); a[4] = 4; END
CALL(platform_version, 152, 40) a[3] = words("1"); a[4] = 1; END
CALL(addressable, 168, 40)
	static device *all[DEVICES];
	for (int i = 0; i < DEVICES; i++) all[i] = &devices[i];
	a[3] = (uint64_t)(uintptr_t)all, a[4] = DEVICES;
END
CALL(compile, 200, 56)
	executable *e = made(EXECUTABLES, sizeof *e);
	const uint64_t *program = object(a[3]);
	char *code = strndup(object(program[2]), program[3]);
	signature(e, code);
	free(code);
	a[6] = (uint64_t)(uintptr_t)e;
END
CALL(from_host, 216, 120)
	static const int sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
	size_t bytes = sizes[(int)a[4]];
	for (uint64_t i = 0; i < a[6]; i++) bytes *= ((int64_t *)object(a[5]))[i];
	buffer *b = made(BUFFERS, sizeof *b);
	b->place = a[11] ? ((memory *)object(a[11]))->of : object(a[10]), b->bytes = bytes, b->data = malloc(bytes + 1);
	memcpy(b->data, object(a[3]), bytes);
	a[13] = event(), a[14] = (uint64_t)(uintptr_t)b;
END
CALL(description_id, 224, 28) *(int *)&a[3] = ((device *)object(a[2]))->id; END
CALL(description_process, 232, 28) *(int *)&a[3] = 0; END
CALL(description_attributes, 240, 40) a[3] = 0, a[4] = 0; END
CALL(description_kind, 248, 40) a[3] = words("fake"); a[4] = 4; END
CALL(description_debug, 256, 40) a[3] = words("fake"); a[4] = 4; END
CALL(device_description, 272, 32) a[3] = a[2]; END
CALL(device_memories, 296, 40)
	static memory *all[DEVICES][2];
	int id = ((device *)object(a[2]))->id;
	for (int i = 0; i < 2; i++) all[id][i] = &memories[2 * id + i];
	a[3] = (uint64_t)(uintptr_t)all[id], a[4] = 2;
END
CALL(default_memory, 304, 32) a[3] = (uint64_t)(uintptr_t)&memories[2 * ((device *)object(a[2]))->id]; END
CALL(memory_id, 320, 28) *(int *)&a[3] = ((memory *)object(a[2]))->id; END
CALL(memory_kind, 328, 40) a[3] = words(((memory *)object(a[2]))->kind); a[4] = strlen(((memory *)object(a[2]))->kind); END
CALL(memory_debug, 336, 40) a[3] = words("fake memory"); a[4] = 11; END
CALL(memory_devices, 352, 40) a[3] = (uint64_t)(uintptr_t)&((memory *)object(a[2]))->of, a[4] = 1; END
CALL(executable_destroy, 360, 24) gone(EXECUTABLES, object(a[2])); END
CALL(num_outputs, 392, 32) a[3] = ((executable *)object(a[2]))->outputs; END
CALL(memory_stats, 808, 64) a[3] = a[4] = a[5] = a[6] = a[7] = 0; END
CALL(serialize, 432, 56) return fail(12, "not here"); END
CALL(loaded_destroy, 440, 24) gone(EXECUTABLES, object(a[2])); END
CALL(loaded_executable, 448, 32)
	executable *e = made(EXECUTABLES, sizeof *e);
	*e = *(executable *)object(a[2]);
	a[3] = (uint64_t)(uintptr_t)e;
END
CALL(buffer_destroy, 504, 24)
	buffer *b = object(a[2]);
	if (!b->taken) free(b->data);
	gone(BUFFERS, b);
END
CALL(to_device, 592, 40)
	buffer *from = object(a[2]), *b = made(BUFFERS, sizeof *b);
	*b = *from, b->place = object(a[3]), b->data = malloc(from->bytes + 1);
	memcpy(b->data, from->data, from->bytes);
	a[4] = (uint64_t)(uintptr_t)b;
END
CALL(to_memory, 776, 40)
	buffer *from = object(a[2]), *b = made(BUFFERS, sizeof *b);
	*b = *from, b->place = ((memory *)object(a[3]))->of, b->data = malloc(from->bytes + 1);
	memcpy(b->data, from->data, from->bytes);
	a[4] = (uint64_t)(uintptr_t)b;
END
CALL(to_host, 600, 56)
	buffer *b = object(a[2]);
	if (b->taken) return fail(3, "the buffer was donated");
	if (a[5] < b->bytes) return fail(3, "too little memory");
	memcpy(object(a[4]), b->data, b->bytes);
	a[6] = event();
END
CALL(is_on_cpu, 608, 25) *(char *)&a[3] = host; END
CALL(ready_event, 616, 32) a[3] = event(); END
CALL(unsafe_pointer, 624, 32)
	buffer *b = object(a[2]);
	if (b->taken) return fail(3, "the buffer was donated");
	a[3] = (uint64_t)(uintptr_t)b->data;
END
CALL(execute, 480, 80)
	uint64_t replicas = a[5], inputs = a[6], *options = object(a[3]), **arguments = object(a[4]), **results = object(a[7]), *events = object(a[8]);
	int64_t *keep = object(options[7]);
	for (uint64_t r = 0; r < replicas; r++)
		for (uint64_t i = 0; i < inputs; i++) {
			buffer *b = object(arguments[r][i]);
			if (b->taken) return fail(3, "an argument was donated");
			if (b->place->id != (int)r && replicas > 1) return fail(3, "an argument lies on another device");
		}
	executable *e = object(a[2]);
	for (uint64_t r = 0; r < replicas; r++) {
		for (int i = 0; i < e->outputs; i++) {
			buffer *b = made(BUFFERS, sizeof *b), *in = e->output[i].alias < 0 ? NULL : object(arguments[r][e->output[i].alias]);
			int kept = !in;
			for (uint64_t k = 0; k < options[8]; k++) kept |= keep[k] == e->output[i].alias;
			b->place = &devices[replicas > 1 ? r : (uint64_t)((buffer *)object(arguments[r][inputs - 1]))->place->id], b->bytes = e->output[i].bytes;
			if (kept) {
				b->data = calloc(1, b->bytes + 1);
				if (in) memcpy(b->data, in->data, b->bytes);
			} else
				b->data = in->data, in->taken = 1;
			results[r][i] = (uint64_t)(uintptr_t)b;
		}
		if (events) events[r] = event();
	}
END

// What tests call: which call fails, the version, what is alive.
void fake_reset(int64_t entry, int64_t call, int64_t minor, int64_t beyond) {
	fail_entry = (int)entry, fail_call = (int)call, more = (int)beyond;
	memset(calls, 0, sizeof calls);
	table[4] = (uint64_t)(uint32_t)(minor / 1000) | (uint64_t)(uint32_t)(minor % 1000) << 32;
}
void fake_host(int64_t yes) { host = (int)yes; }
int64_t fake_alive(int64_t what) { return count((int)what, 0); }
void fake_forgive(int64_t what) { count((int)what, -1); }
// fake_lacks takes a function out of the table, as plugins have that do not know it.
void fake_lacks(int64_t entry) { table[entry / 8] = 0; }
int64_t fake_calls(int64_t entry) { return calls[entry / 8]; }

void *GetPjrtApi(void) {
	const struct { int offset; void *function; } all[] = {
		{40, error_destroy}, {48, error_message}, {56, error_code}, {64, initialize}, {72, attributes}, {80, event_destroy}, {88, event_ready}, {104, event_await},
		{120, client_create}, {128, client_destroy}, {136, platform_name}, {152, platform_version}, {168, addressable}, {200, compile}, {216, from_host},
		{224, description_id}, {232, description_process}, {240, description_attributes}, {248, description_kind}, {256, description_debug},
		{272, device_description}, {296, device_memories}, {304, default_memory}, {320, memory_id}, {328, memory_kind}, {336, memory_debug},
		{352, memory_devices}, {776, to_memory}, {360, executable_destroy}, {392, num_outputs}, {432, serialize}, {440, loaded_destroy}, {448, loaded_executable},
		{480, execute}, {504, buffer_destroy}, {592, to_device}, {600, to_host}, {608, is_on_cpu},
		{616, ready_event}, {624, unsafe_pointer}, {808, memory_stats},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) table[all[i].offset / 8] = (uint64_t)(uintptr_t)all[i].function;
	table[0] = sizeof table;
	return table;
}
