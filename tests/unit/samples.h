/* samples.h: small models, each with inputs in any size, and an allocator that counts and fails on demand. */
#ifndef OX_TEST_SAMPLES_H
#define OX_TEST_SAMPLES_H

#include "onnx_bytes.h"

enum {
    OX_SAMPLE_INPUTS = 3,
    OX_SAMPLE_FLOATS = 1024
};

/* The inputs of one run. */
typedef struct ox_feed {
    int count;
    ox_tensor tensor[OX_SAMPLE_INPUTS];
    int64_t dims[OX_SAMPLE_INPUTS][4];
    union {
        float f[OX_SAMPLE_FLOATS];
        uint16_t h[OX_SAMPLE_FLOATS];
        int64_t i[8];
        bool b[8];
    } data[OX_SAMPLE_INPUTS];
} ox_feed;

typedef struct ox_sample {
    const char *name;
    void (*build)(ox_bytes *model);
    void (*feed)(ox_feed *feed, int64_t n); /* n >= 1 sets the size of inputs; pointers go into *feed */
} ox_sample;

extern const ox_sample ox_samples[];
extern const int ox_sample_count;

/* malloc with a count of calls, checks of the sizes that the caller gives back, and failure of the n-th call. */
typedef struct ox_counter {
    size_t calls;   /* requests for memory so far */
    size_t live;    /* bytes not given back, ... */
    size_t peak;    /* ... and the most that they were */
    size_t fail_at; /* the call that fails, 0 for none */
    bool fail_on;   /* all later calls fail too */
    ox_allocator allocator;
} ox_counter;

void ox_counter_init(ox_counter *counter);

#endif
