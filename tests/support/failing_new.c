// Preloaded into a process whose n-th C++ allocation is to fail (test_out_of_memory.py). Only the thread that asks for
// it is hit.
#include <stddef.h>
#include <stdlib.h>

extern void _ZSt17__throw_bad_allocv(void) __attribute__((noreturn));

static __thread long until_failure = 0;

void fail_new(long n) { until_failure = n; }
long new_left(void) { return until_failure; }

static void* allocate(size_t bytes) {
  if (until_failure > 0 && --until_failure == 0) _ZSt17__throw_bad_allocv();
  void* p = malloc(bytes ? bytes : 1);
  if (!p) _ZSt17__throw_bad_allocv();
  return p;
}

void* _Znwm(size_t bytes) { return allocate(bytes); }
void* _Znam(size_t bytes) { return allocate(bytes); }
void _ZdlPv(void* p) { free(p); }
void _ZdaPv(void* p) { free(p); }
void _ZdlPvm(void* p, size_t bytes) { (void)bytes, free(p); }
void _ZdaPvm(void* p, size_t bytes) { (void)bytes, free(p); }
