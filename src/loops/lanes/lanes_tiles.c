/* lanes_tiles.c: loops of lanes.c again, for operands and results that lie in the first-level cache: there, vectors of
 * twice the width take half of the time; where there is a wait for memory, they are the slower ones. */
#include "lane_maps.h"
#include "lane_types.inc"

#define TILES(name, e) BINARY_FLOAT(name##Tiles, e)
ARITHMETIC_MAPS(TILES)
