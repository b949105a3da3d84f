/* builds.h: the kinds of processors that loops are built for, by their names; ox_loops_find gives the next best for one
 * that this processor lacks. */
#ifndef OX_TEST_BUILDS_H
#define OX_TEST_BUILDS_H

#include "src/loops/builds.h"

#define builds ox_build_names
enum {
    BUILDS = OX_BUILDS_COUNT
};

#endif
