#pragma once
/* The in-process compiler as a library of its own: LLVM and clang linked statically and hidden behind this C interface,
 * so that neither their symbols nor their C++ runtime can meet those of torch, numba or triton. Opened at the first
 * compile.
 *
 * Where memory runs out while LLVM compiles, LLVM ends the process: it has no way to report that.
 *
 * Every function may be called from several threads at once. A returned text or object is freed with strata_jit_free.
 */
#include <stddef.h>

#define STRATA_JIT_ABI 1
#define STRATA_JIT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* STRATA_JIT_ABI of the library: another value means another interface. */
STRATA_JIT_API int strata_jit_abi(void);
/* "clang 19.1.7". */
STRATA_JIT_API const char* strata_jit_version(void);
/* Processor and features that code for this machine is made for, and the flags: all that decides about the object
 * besides the text. Two machines with equal strings may share objects. */
STRATA_JIT_API const char* strata_jit_target(void);
/* C text to an ELF object. `cpu` is null for this machine, or a processor name ("x86-64-v3"). Returns 0, or 1 with the
 * compiler's messages in *error. */
STRATA_JIT_API int strata_jit_compile(const char* source, const char* file_name, const char* cpu, char** object,
                                      size_t* size, char** error);
/* C text to assembly text (kind 0) or optimised LLVM IR text (kind 1). */
STRATA_JIT_API int strata_jit_text(const char* source, const char* file_name, const char* cpu, int kind, char** text,
                                   char** error);
/* Links an object against the fixed table in symbols.h, never against the whole process. 0, and a handle that keeps the
 * code alive until strata_jit_release; or 1 and a message. */
STRATA_JIT_API int strata_jit_load(const char* object, size_t size, void** handle, char** error);
/* The address of a function of a loaded object, or null and a message. */
STRATA_JIT_API void* strata_jit_find(void* handle, const char* symbol, char** error);
STRATA_JIT_API void strata_jit_release(void* handle);
STRATA_JIT_API void strata_jit_free(void* memory);

#ifdef __cplusplus
}
#endif
