/* cast_text.h: the loops of Cast between numbers and strings. */
#ifndef OX_OPS_ELEMENTWISE_CAST_TEXT_H
#define OX_OPS_ELEMENTWISE_CAST_TEXT_H

#include "digits.h"
#include "loops/lanes.h"

/* attr: the ox_dtype that the string is to become; string -> double, rounded for what comes next */
ox_lane ox_lane_parse_real;
/* attr: the ox_dtype that the string is to become; string -> int64, or the bits of a uint64 */
ox_lane ox_lane_parse_int;

/* Where the text of numbers goes: OX_NUMBER_TEXT bytes for each element of `out`. */
typedef struct ox_text_out {
    ox_dtype dtype; /* of the numbers, before they were widened */
    const ox_tensor *out;
    char *room;
} ox_text_out;

/* attr: an ox_text_out; a number -> string, written right into `out` */
ox_lane ox_lane_print_real, ox_lane_print_int, ox_lane_print_uint, ox_lane_print_bool;

#endif
