/* asserts.h: what the code relies on, stated where it relies on it.
 *
 * Builds with OX_ASSERTIONS look: those that `make check` runs the tests with, and all with sanitizers. There a
 * condition that does not hold is written to standard error, and the process ends: the only builds of the library that
 * print. Everywhere else an assertion is no code; its condition is compiled, but never evaluated. What a model, an
 * input or a caller can bring about is no matter for assertions, but for errors. */
#ifndef OX_ASSERTS_H
#define OX_ASSERTS_H

#ifndef OX_ASSERTIONS
#define OX_ASSERTIONS 0
#endif

#if OX_ASSERTIONS
#if defined(__GNUC__)
__attribute__((noreturn, cold))
#endif
void ox_assert_failed(const char *condition, const char *file, int line);
#define OX_ASSERT(condition) ((condition) ? (void)0 : ox_assert_failed(#condition, __FILE__, __LINE__))
#else
#define OX_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* Memory that must not be touched until it is allowed again; only the address sanitizer looks. */
#if defined(__SANITIZE_ADDRESS__)
#define OX_WATCHES_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OX_WATCHES_MEMORY 1
#endif
#endif
#ifdef OX_WATCHES_MEMORY
#include <sanitizer/asan_interface.h>
#define OX_FORBID(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define OX_ALLOW(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define OX_FORBID(address, size) ((void)(address), (void)(size))
#define OX_ALLOW(address, size) ((void)(address), (void)(size))
#endif

#endif
