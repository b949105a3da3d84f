/* asserts.h: assertions, each stated where the code relies on it.
 *
 * Builds with OX_ASSERTIONS check them: the builds that `make check` tests, and all builds with sanitizers. There an
 * assertion that fails is written to standard error, and the process ends; no other builds of the library print. In all
 * other builds an assertion generates no code: its condition is compiled, but never evaluated. Conditions that a model,
 * an input or a caller can break are errors, not assertions. */
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
