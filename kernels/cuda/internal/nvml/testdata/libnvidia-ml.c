// A libnvidia-ml.so.1 for tests: five GPUs. 0 and 1 are joined by four NVLinks; 2 and 3 have two and three links to one switch; 4 has none.
// NVML_FAIL names a function that fails.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { gpus = 5, links = 4 };
typedef void *device;
typedef struct { char legacy[16]; unsigned domain, bus, device, product, subproduct; char id[32]; } pci;
typedef struct { unsigned long long total, free, used; } memory;
static int open_, calls;

static int enter(const char *name) {
	const char *failing = getenv("NVML_FAIL");
	calls++;
	if (failing && !strcmp(failing, name)) return 999;
	return open_ || !strcmp(name, "nvmlInit_v2") || !strcmp(name, "nvmlInitWithFlags") ? 0 : 1;
}
#define F(name, ...) int name(__VA_ARGS__) { int r = enter(__func__); if (r) return r;
static long number(device d) { return (long)d - 1; }
static void address(pci *p, unsigned bus) {
	memset(p, 0, sizeof *p);
	p->bus = bus;
	snprintf(p->id, sizeof p->id, "00000000:%02x:00.0", bus);
}

F(nvmlInit_v2, void) open_ = 1; return 0; }
F(nvmlInitWithFlags, unsigned f) open_ = 1; return 0; }
F(nvmlShutdown, void) open_ = 0; return 0; }
const char *nvmlErrorString(int r) { return r == 999 ? "failed for a test" : r == 0 ? "Success" : "Uninitialized"; }
F(nvmlSystemGetDriverVersion, char *s, unsigned n) snprintf(s, n, "550.54.15"); return 0; }
F(nvmlDeviceGetCount_v2, unsigned *n) *n = gpus; return 0; }
F(nvmlDeviceGetHandleByIndex_v2, unsigned i, device *d) if (i >= gpus) return 2; *d = (device)(long)(i + 1); return 0; }
F(nvmlDeviceGetUUID, device d, char *s, unsigned n) snprintf(s, n, "GPU-test-%ld", number(d)); return 0; }
F(nvmlDeviceGetPciInfo_v3, device d, pci *p) address(p, 0xa0 + (unsigned)number(d)); return 0; }
F(nvmlDeviceGetMemoryInfo, device d, memory *m) m->total = 8ull << 30; m->used = (1 + (unsigned long long)number(d)) << 20; m->free = m->total - m->used; return 0; }
F(nvmlDeviceGetTopologyCommonAncestor, device a, device b, int *l)
	long x = number(a), y = number(b);
	*l = x / 2 == y / 2 ? 10 : x < 4 && y < 4 ? 30 : 50;
	return 0;
}
F(nvmlDeviceGetNvLinkState, device d, unsigned link, int *s)
	long i = number(d);
	if (i == 4) return 3;       // not supported
	if (link >= links) return 2; // no such link
	*s = i < 2 ? 1 : link < (unsigned)i;
	return 0;
}
F(nvmlDeviceGetNvLinkRemotePciInfo_v2, device d, unsigned link, pci *p) address(p, number(d) < 2 ? 0xa1 - (unsigned)number(d) : 0xc0); return 0; }
int fake_open(void) { return open_; }
