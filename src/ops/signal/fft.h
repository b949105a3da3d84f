/* fft.h: discrete Fourier transforms of any length in n log n steps, of several lines at a time. */
#ifndef OX_OPS_SIGNAL_FFT_H
#define OX_OPS_SIGNAL_FFT_H

#include "ops/op.h"

enum {
    OX_FFT_FACTORS = 48 /* a length below 2^48 has no more */
};

/* A transform whose length is a product of small primes; its stages go from one pair of arrays to another and back. */
typedef struct ox_fft_stages {
    int64_t n;
    int count, factor[OX_FFT_FACTORS];
    double *turn; /* n complex numbers exp(-2 pi i k / n) */
} ox_fft_stages;

typedef struct ox_fft {
    int64_t n;
    ox_fft_stages stages; /* of n, or of the length of the convolution that stands for a transform of other lengths */
    double *chirp;        /* n complex numbers exp(-pi i k k / n); NULL without a convolution */
    double *kernel;       /* the transform of the conjugate chirp, over the stages' length */
} ox_fft;

/* Lines beside each other: element k of line j is re[k * lines + j], im[k * lines + j]. */
typedef struct ox_fft_lines {
    double *re, *im;
} ox_fft_lines;

/* Prepare: a transform of n >= 1 elements, in plan memory. */
ox_status ox_fft_plan(ox_call *call, int64_t n, ox_fft *fft);

/* Elements that each of the four arrays of ox_fft_run has to have for one line. */
int64_t ox_fft_room(const ox_fft *fft);

/* Transforms `lines` lines of n elements in `data`. Returns where the results lie: in `data` or in `other`. For the
 * inverse without its factor 1 / n, exchange re and im. */
ox_fft_lines ox_fft_run(const ox_fft *fft, int64_t lines, ox_fft_lines data, ox_fft_lines other);

#endif
