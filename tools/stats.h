/* stats.h: what the elements of a tensor are like. */
#ifndef OX_STATS_H
#define OX_STATS_H

#include "text.h"

/* Of strings, the count alone is known. Complex numbers count by their absolute value. */
typedef struct ox_stats {
    ox_dtype dtype;
    int64_t count, finite, nans, infinities;
    double mean;                   /* of the finite elements, as are: */
    char minimum[32], maximum[32]; /* as exact text */
} ox_stats;

ox_stats ox_stats_of(const ox_tensor *tensor);

/* Adds "min -1.5, max 3, mean 0.25, 0 NaN, 0 inf of 12". */
void ox_stats_put(const ox_stats *stats, ox_text *text);

/* Adds a JSON object with count, min, max, mean, nan and inf; null where there is nothing finite. */
void ox_stats_json(const ox_stats *stats, ox_text *text);

#endif
