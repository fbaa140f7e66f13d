// Libraries that only return their version: VERSION, or MAJOR and MINOR.
#include <stddef.h>
#ifdef VERSION
size_t cublasLtGetVersion(void) { return VERSION; }
size_t cudnnGetVersion(void) { return VERSION; }
#endif
#ifdef MAJOR
int nvrtcVersion(int *major, int *minor) { *major = MAJOR; *minor = MINOR; return MAJOR == 99; }
#endif
int nothing;
