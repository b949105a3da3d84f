/* lane_math.c: what the loops of math functions are not compiled for. */
#include "lane_math.h"

const float ox_erf_most = 3.925f;
