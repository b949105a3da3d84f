/* times.h: what lives at the same time as something else, found by the steps that it lives through, so that not all
 * have to be compared with each other. */
#ifndef OX_PLAN_TIMES_H
#define OX_PLAN_TIMES_H

#include "alloc.h"

typedef struct ox_times_entry ox_times_entry;

/* Numbered things, each with the first and the last step of its life. A tree halves the steps again and again: a life
 * stands in the lists of the largest parts that it fills. */
typedef struct ox_times {
    ox_pile *pile;
    int first, count;       /* of the steps */
    int leaves;             /* a power of two */
    ox_times_entry **parts; /* of each part of the tree: 1 is all steps, 2n and 2n + 1 the halves of n */
    ox_times_entry **born;  /* of each step: what begins there */
} ox_times;

/* Times of steps [first, end), first < end, with nothing in them, in `pile`; false without memory. */
bool ox_times_begin(ox_times *times, ox_pile *pile, int first, int end);
/* Adds a life; what lies outside of the steps is left out, and some of it lies inside. False without memory. */
bool ox_times_add(ox_times *times, int born, int dies, size_t number);
/* Writes the numbers of all that live at some step of [born, dies], each once, in no order; returns how many. */
size_t ox_times_find(const ox_times *times, int born, int dies, size_t *found);

#endif
