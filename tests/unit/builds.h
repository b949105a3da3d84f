/* builds.h: the kinds of processors that loops are built for, by their names; ox_loops_find gives the next best for one
 * that this processor lacks. */
#ifndef OX_TEST_BUILDS_H
#define OX_TEST_BUILDS_H

static const char *const builds[] = {"base", "v3", "v4"};
enum {
    BUILDS = sizeof builds / sizeof *builds
};

#endif
