/* element.h: elements as kernels load and store them: at any address, where the machine allows it. */
#ifndef OX_LOOPS_ELEMENT_H
#define OX_LOOPS_ELEMENT_H

#include "tensor.h"

#if OX_UNALIGNED
#define OX_ANYWHERE __attribute__((may_alias, aligned(1)))
#else
#define OX_ANYWHERE __attribute__((may_alias))
#endif

typedef float OX_ANYWHERE ox_f32;
typedef double OX_ANYWHERE ox_f64;
typedef int8_t OX_ANYWHERE ox_i8;
typedef uint8_t OX_ANYWHERE ox_u8;
typedef uint16_t OX_ANYWHERE ox_u16;
typedef int32_t OX_ANYWHERE ox_i32;
typedef uint32_t OX_ANYWHERE ox_u32;
typedef int64_t OX_ANYWHERE ox_i64;
typedef uint64_t OX_ANYWHERE ox_u64;

/* The element of that type at an address. */
#define OX_AT(type, address) (*(type *)(void *)(address))
#define OX_GET(type, address) (*(const type *)(const void *)(address))

/* The same, read exactly once. What is used as an address, a count or a bound is read so: another thread may change an
 * input during a run, and what was checked must be what is used. */
#define OX_ONCE(type, address) (*(const volatile type *)(const void *)(address))

#endif
