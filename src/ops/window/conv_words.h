/* conv_words.h: convolutions of bytes whose kernel multiplies several along k at once: channels that it takes together
 * are laid out side by side in the image, as words, and these are gathered as elements are. The columns of a product
 * then lie as its panels want them, and each word is gathered for several channels. */
#ifndef OX_OPS_WINDOW_CONV_WORDS_H
#define OX_OPS_WINDOW_CONV_WORDS_H

#include "conv.h"

#if !OX_SMALL
typedef struct ox_conv_words {
    int64_t group;       /* channels in a word, as many as the kernel takes together, */
    int64_t words;       /* and words in a group of channels; what is missing in the last one counts nothing */
    size_t bytes;        /* of the words of an image's group */
    const void *weights; /* in that order; tap by tap if ... */
    bool is_placed;      /* ... tiles read words where they lie */
} ox_conv_words;

/* Whether a convolution has such words. */
bool ox_conv_words_can(const ox_call *call, const ox_conv *conv);

/* Prepare: lays weights out; `words->weights` is NULL if there is no room for them. */
ox_status ox_conv_words_weights(ox_call *call, const ox_conv *conv, ox_conv_words *words);

/* Prepare: asks for workspace. */
ox_status ox_conv_words_plan(ox_call *call, const ox_conv *conv, ox_conv_words *words);

/* Makes a product one of words. */
void ox_conv_words_product(const ox_conv_words *words, const ox_conv *conv, ox_gemm *g);

/* Run: the words of all images and groups. */
char *ox_conv_words_take(const ox_call *call, const ox_conv *conv, const ox_conv_words *words, size_t *used);

/* What an ox_gemm_panel_fn does: `all` are these words, and `fill` is the byte of the image that padding is made of. */
void ox_conv_words_columns(const ox_conv *conv, const ox_conv_words *words, const ox_gemm *g, const char *all, int fill,
                           const ox_gemm_block *panel);
#endif

#endif
