/* meter.h: what a model may ask for, and counting what it takes. */
#ifndef OX_METER_H
#define OX_METER_H

#include "alloc.h"

/* The limits in force where options do not set others. */
extern const ox_limits ox_limits_default;

/* `given`, with `otherwise` for members that are 0. A depth above OX_MOST_CALLS is reduced to it. nodes stays 0 if
 * neither sets it. */
ox_limits ox_limits_or(const ox_limits *given, const ox_limits *otherwise);

/* OX_ERROR_LIMIT if a file of `size` bytes is too large. */
ox_status ox_limits_file(const ox_limits *limits, size_t size, ox_error *error);

/* Counts what is taken from an allocator, and refuses what goes beyond a limit. */
typedef struct ox_meter {
    ox_allocator from;
    ox_allocator temporary; /* ox_temporary of it */
    size_t used, limit;
    bool refused; /* something, since it was last explained */
} ox_meter;

/* An allocator that allocates from `from` up to the limit; `used` bytes count as allocated. The meter must not move,
 * and serves one thread at a time. */
ox_allocator ox_meter_allocator(ox_meter *meter, const ox_allocator *from, size_t limit, size_t used);

/* An allocator that counts with the same meter, for what is given back soon. */
ox_allocator ox_meter_temporary(ox_meter *meter);

/* Grows a block of `old_size` bytes to `size` bytes without moving it, if the allocator (with a meter or not) can. */
bool ox_meter_extend(const ox_allocator *allocator, void *block, size_t old_size, size_t size);

/* True if the allocator (with a meter or not) is one over a fixed buffer. */
bool ox_meter_is_fixed(const ox_allocator *allocator);

/* The status of an operation that used the meter: OX_ERROR_MEMORY becomes OX_ERROR_LIMIT if the meter refused an
 * allocation, and the error says so. */
ox_status ox_meter_explain(ox_meter *meter, ox_status status, ox_error *error);

#endif
