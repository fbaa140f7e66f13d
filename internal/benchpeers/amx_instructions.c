// What the instructions for matrix registers cost, alone and in the order in which a product of two by two tiles needs
// them, in nanoseconds and in cycles (of vector multiply-adds, two of which a cycle are assumed): what the plans of
// kernels/cpu/internal/gemm are made from. Not part of the library: make amx-machine compiles it.
//
//	amx_instructions CPU          measures on a processor
//	amx_instructions CPU siblings says, for each other processor, how much of the rate is left while that one is busy:
//	                              about half where the two share a core
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double now() {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void pin(int c) {
	cpu_set_t s;
	CPU_ZERO(&s);
	CPU_SET(c, &s);
	sched_setaffinity(0, sizeof s, &s);
}
struct cfg {
	uint8_t palette, start;
	uint8_t z[14];
	uint16_t colsb[16];
	uint8_t rows[16];
};
static struct cfg cfgOf(int rows) {
	struct cfg c;
	memset(&c, 0, sizeof c);
	c.palette = 1;
	for (int i = 0; i < 8; i++) {
		c.colsb[i] = 64;
		c.rows[i] = rows;
	}
	return c;
}
static struct cfg cfgAB(int rows, int k) {
	struct cfg c = cfgOf(rows);
	for (int i = 4; i < 6; i++) {
		c.rows[i] = rows;
		c.colsb[i] = 4 * k;
	}
	for (int i = 6; i < 8; i++)
		c.rows[i] = k;
	return c;
}
static volatile int stop;
static double fma_rate(double secs) { // per ns
	__m512 a[10];
	for (int i = 0; i < 10; i++)
		a[i] = _mm512_set1_ps(i);
	__m512 b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-3f);
	double best = 0, end = now() + secs;
	while (now() < end) {
		double t = now();
		for (int r = 0; r < 20000; r++) {
			_Pragma("GCC unroll 10") for (int i = 0; i < 10; i++) a[i] = _mm512_fmadd_ps(a[i], b, c);
			asm volatile("" ::"v"(a[0]), "v"(a[1]), "v"(a[2]), "v"(a[3]), "v"(a[4]), "v"(a[5]), "v"(a[6]), "v"(a[7]), "v"(a[8]), "v"(a[9]));
		}
		t = now() - t;
		double rate = 200000 / t / 1e9;
		if (rate > best)
			best = rate;
	}
	volatile float s = 0;
	for (int i = 0; i < 10; i++)
		s += ((float *)&a[i])[0];
	return best;
}
static void *spin(void *p) {
	pin((int)(long)p);
	while (!stop)
		fma_rate(0.002);
	return 0;
}
static char *mem;
#define RUN(name, per, ...)                                                                                                                                    \
	do {                                                                                                                                                       \
		double best = 1e9;                                                                                                                                     \
		for (int rep = 0; rep < 12; rep++) {                                                                                                                   \
			double t = now();                                                                                                                                  \
			for (int r = 0; r < n; r++) {                                                                                                                      \
				__VA_ARGS__;                                                                                                                                   \
			}                                                                                                                                                  \
			t = now() - t;                                                                                                                                     \
			if (t < best)                                                                                                                                      \
				best = t;                                                                                                                                      \
		}                                                                                                                                                      \
		printf("%-34s %8.2f ns  %7.1f cycles\n", name, best * 1e9 / n / (per), best * 1e9 / n / (per) * ghz);                                                  \
		fflush(stdout);                                                                                                                                        \
	} while (0)
#define LD(t, p, s) asm volatile("tileloadd (%0,%1,1), %%tmm" #t::"r"(p), "r"((long)(s)) : "memory")
#define ST(t, p, s) asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"((long)(s)) : "memory")
#define DP(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c::)
#define DPI(c, a, b) asm volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c::)
#define Z(t) asm volatile("tilezero %%tmm" #t::)
int main(int argc, char **argv) {
	int cpu = argc > 1 ? atoi(argv[1]) : 0;
	pin(cpu);
	mem = aligned_alloc(1 << 21, 64 << 20);
	memset(mem, 0, 64 << 20);
	double alone = fma_rate(0.05);
	printf("fma alone %.2f a ns: %.2f GHz\n", alone, alone / 2);
	int ncpu = sysconf(_SC_NPROCESSORS_ONLN);
	if (argc > 2) {
		for (int k = 0; k < ncpu; k++) {
			if (k == cpu)
				continue;
			pthread_t th;
			stop = 0;
			pthread_create(&th, 0, spin, (void *)(long)k);
			usleep(3000);
			double r = fma_rate(0.012);
			stop = 1;
			pthread_join(th, 0);
			printf("sibling %d %.2f\n", k, r / alone);
		}
		return 0;
	}
	double ghz = alone / 2;
	int n = 2000;
	char *A = mem, *B = mem + (1 << 20), *C = mem + (2 << 20);
	if (syscall(SYS_arch_prctl, 0x1023, 18)) {
		printf("no amx\n");
		goto vectors;
	}
	{
		struct cfg c = cfgOf(16);
		_tile_loadconfig(&c);
		Z(0);
		Z(1);
		Z(2);
		Z(3);
		LD(4, A, 64);
		LD(5, A, 64);
		LD(6, B, 64);
		LD(7, B, 64);
		RUN("TDP, 4 sums", 4, {
			DP(0, 4, 6);
			DP(1, 4, 7);
			DP(2, 5, 6);
			DP(3, 5, 7);
		});
		RUN("TDPBSUD, 4 sums", 4, {
			DPI(0, 4, 6);
			DPI(1, 4, 7);
			DPI(2, 5, 6);
			DPI(3, 5, 7);
		});
		RUN("TDP, 1 sum", 1, { DP(0, 4, 6); });
		RUN("TDP, 2 sums", 2, {
			DP(0, 4, 6);
			DP(1, 4, 7);
		});
		RUN("load stride 64, same", 4, {
			LD(4, A, 64);
			LD(5, A + 1024, 64);
			LD(6, B, 64);
			LD(7, B + 1024, 64);
		});
		RUN("load stride 128", 4, {
			LD(4, A, 128);
			LD(5, A + 2048, 128);
			LD(6, B, 128);
			LD(7, B + 64, 128);
		});
		RUN("load stride 256 (K 128)", 4, {
			LD(4, A, 256);
			LD(5, A + 4096, 256);
			LD(6, B, 128);
			LD(7, B + 64, 128);
		});
		RUN("load stride 1024+64", 4, {
			LD(4, A, 1088);
			LD(5, A + 16 * 1088, 1088);
			LD(6, B, 128);
			LD(7, B + 64, 128);
		});
		RUN("load stride 4096", 4, {
			LD(4, A, 4096);
			LD(5, A + 64, 4096);
			LD(6, B, 128);
			LD(7, B + 64, 128);
		});
		RUN("2x2, in L1 (8 steps)", 32, {
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
		});
		RUN("2x2, loads first", 32, {
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				LD(5, a + 16 * 576, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
		});
		RUN("2x2, snake", 32, {
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				LD(7, b + 64, 128);
				DP(3, 5, 7);
				DP(1, 4, 7);
			}
		});
		RUN("2x2 B in L2 (256K), 8 steps", 32, {
			char *bb = B + (r % 16) * 16384;
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = bb + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
		});
		RUN("2x2 A,B in L2", 32, {
			char *bb = B + (r % 16) * 16384, *aa = A + (r % 16) * 32 * 576;
			for (int k = 0; k < 8; k++) {
				char *a = aa + 64 * k, *b = bb + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
		});
		RUN("2x2 B L2 prefetched", 32, {
			char *bb = B + (r % 16) * 16384, *nb = B + ((r + 1) % 16) * 16384;
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = bb + 2048 * k, *q = nb + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				for (int i = 0; i < 16; i++)
					_mm_prefetch(q + 64 * i, _MM_HINT_T0);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				for (int i = 16; i < 32; i++)
					_mm_prefetch(q + 64 * i, _MM_HINT_T0);
				DP(3, 5, 7);
			}
		});
		RUN("2x2 4 steps + zero + store C L1", 16, {
			Z(0);
			Z(1);
			Z(2);
			Z(3);
			for (int k = 0; k < 4; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
			char *cc = C + (r % 4) * 128;
			ST(0, cc, 512);
			ST(1, cc + 64, 512);
			ST(2, cc + 8192, 512);
			ST(3, cc + 8256, 512);
		});
		RUN("2x2 4 steps + zero + store C L2", 16, {
			Z(0);
			Z(1);
			Z(2);
			Z(3);
			for (int k = 0; k < 4; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
			char *cc = C + (r % 8) * 128 + (r / 8 % 8) * 32768;
			ST(0, cc, 1024);
			ST(1, cc + 64, 1024);
			ST(2, cc + 16384, 1024);
			ST(3, cc + 16448, 1024);
		});
		RUN("4 stores L1", 4, {
			ST(0, C, 512);
			ST(1, C + 64, 512);
			ST(2, C + 8192, 512);
			ST(3, C + 8256, 512);
		});
		RUN("4 zero", 4, {
			Z(0);
			Z(1);
			Z(2);
			Z(3);
		});
		RUN("config + release", 1, {
			_tile_loadconfig(&c);
			asm volatile("tilerelease");
		});
		RUN("config, load, TDP, store, release", 1, {
			_tile_loadconfig(&c);
			Z(0);
			LD(4, A, 64);
			LD(6, B, 64);
			DP(0, 4, 6);
			ST(0, C, 64);
			asm volatile("tilerelease");
		});
		_tile_loadconfig(&c);
		RUN("config alone", 1, { _tile_loadconfig(&c); });
		struct cfg c8 = cfgAB(8, 16);
		_tile_loadconfig(&c8);
		RUN("8 rows: TDP, 4 sums", 4, {
			DP(0, 4, 6);
			DP(1, 4, 7);
			DP(2, 5, 6);
			DP(3, 5, 7);
		});
		RUN("8 rows: same B twice", 4, {
			DP(0, 4, 6);
			DP(2, 5, 6);
			DP(1, 4, 7);
			DP(3, 5, 7);
		});
		RUN("8 rows: 2x2 in L1", 32, {
			for (int k = 0; k < 8; k++) {
				char *a = A + 64 * k, *b = B + 2048 * k;
				LD(6, b, 128);
				LD(7, b + 64, 128);
				LD(4, a, 576);
				DP(0, 4, 6);
				DP(1, 4, 7);
				LD(5, a + 16 * 576, 576);
				DP(2, 5, 6);
				DP(3, 5, 7);
			}
		});
		struct cfg c1 = cfgAB(1, 16);
		_tile_loadconfig(&c1);
		RUN("1 row: TDP, 4 sums", 4, {
			DP(0, 4, 6);
			DP(1, 4, 7);
			DP(2, 5, 6);
			DP(3, 5, 7);
		});
		RUN("1 row: load B, TDP", 2, {
			LD(6, B, 128);
			LD(7, B + 64, 128);
			DP(0, 4, 6);
			DP(1, 4, 7);
		});
		struct cfg k8 = cfgAB(16, 8);
		_tile_loadconfig(&k8);
		RUN("16 rows, 8 pairs: TDP", 4, {
			DP(0, 4, 6);
			DP(1, 4, 7);
			DP(2, 5, 6);
			DP(3, 5, 7);
		});
		struct cfg k4 = cfgAB(16, 4);
		_tile_loadconfig(&k4);
		RUN("16 rows, 4 pairs: TDP", 4, {
			DP(0, 4, 6);
			DP(1, 4, 7);
			DP(2, 5, 6);
			DP(3, 5, 7);
		});
		asm volatile("tilerelease");
	}
vectors:
	{
		__m512 s[8];
		for (int i = 0; i < 8; i++)
			s[i] = _mm512_setzero_ps();
#define V8(...)                                                                                                                                                \
	_Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) { __VA_ARGS__; }
		n = 20000;
		__m512i x = _mm512_set1_epi32(0x3f803f80);
		__m512 y = _mm512_set1_ps(1);
		RUN("VDPBF16PS", 8, V8(asm volatile("vdpbf16ps %1,%1,%0" : "+v"(s[i]) : "v"(x))));
		RUN("FMA", 8, V8(asm volatile("vfmadd231ps %1,%1,%0" : "+v"(s[i]) : "v"(y))));
		RUN("shift, and, 2 FMA of a pair", 8, V8({
				__m512i e, o;
				asm volatile("vpslld $16,%2,%0\n vpandd %3,%2,%1" : "=&v"(e), "=&v"(o) : "v"(x), "v"(x));
				asm volatile("vfmadd231ps %1,%2,%0\n vfmadd231ps %3,%2,%0" : "+v"(s[i]) : "v"(e), "v"(y), "v"(o));
			}));
		RUN("VCVTNE2PS2BF16", 8, V8(asm volatile("vcvtne2ps2bf16 %1,%1,%0" : "=v"(s[i]) : "v"(y))));
		RUN("VCVTNEPS2BF16 zmm", 8, V8({
				__m256i h;
				asm volatile("vcvtneps2bf16 %1,%0" : "=v"(h) : "v"(y));
			}));
		RUN("VDIVPS zmm", 8, V8(asm volatile("vdivps %1,%1,%0" : "=v"(s[i]) : "v"(y))));
		RUN("VPERMW zmm", 8, V8(asm volatile("vpermw %1,%1,%0" : "=v"(s[i]) : "v"(x))));
		RUN("VPERMT2W zmm", 8, V8(asm volatile("vpermt2w %1,%1,%0" : "+v"(s[i]) : "v"(x))));
		RUN("VPERMT2D zmm", 8, V8(asm volatile("vpermt2d %1,%1,%0" : "+v"(s[i]) : "v"(x))));
		RUN("VSCALEFPS zmm", 8, V8(asm volatile("vscalefps %1,%1,%0" : "=v"(s[i]) : "v"(y))));
		RUN("VRNDSCALEPS zmm", 8, V8(asm volatile("vrndscaleps $0,%1,%0" : "=v"(s[i]) : "v"(y))));
		RUN("VMAXPS zmm", 8, V8(asm volatile("vmaxps %1,%1,%0" : "=v"(s[i]) : "v"(y))));
		RUN("VCMPPS k", 8, V8({
				__mmask16 m;
				asm volatile("vcmpps $1,%1,%1,%0" : "=k"(m) : "v"(y));
			}));
	}
	// bandwidth
	for (int kb = 16; kb <= 65536; kb *= 4) {
		long bytes = (long)kb << 10;
		double best = 0;
		for (int rep = 0; rep < 6; rep++) {
			int times = (8 << 20) / bytes;
			if (times < 1)
				times = 1;
			double t = now();
			for (int q = 0; q < times; q++)
				for (long i = 0; i < bytes; i += 256) {
					asm volatile("vmovups (%0),%%zmm0\n vmovups 64(%0),%%zmm1\n vmovups 128(%0),%%zmm2\n vmovups 192(%0),%%zmm3" ::"r"(mem + i)
								 : "xmm0", "xmm1", "xmm2", "xmm3");
				}
			t = now() - t;
			double g = bytes * (double)times / t / 1e9;
			if (g > best)
				best = g;
		}
		printf("read %d KiB %.1f GB/s\n", kb, best);
	}
	return 0;
}
