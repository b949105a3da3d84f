/* lane_math.c: what the loops of math functions are not compiled for. */
#include "lane_math.h"

const float ox_erf_most = 3.925f;
const float ox_exp_limits[2] = {-105.0f, 89.0f};
const float ox_sigmoid_limits[2] = {-105.0f, 44.0f};
const float ox_tanh_limits[2] = {-9.01f, 9.01f};
