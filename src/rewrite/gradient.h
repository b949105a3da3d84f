/* gradient.h: one node that is differentiated, as the rules of operators see it. */
#ifndef OX_REWRITE_GRADIENT_H
#define OX_REWRITE_GRADIENT_H

#include "emit.h"

typedef struct ox_derivative {
    ox_emitter emitter;
    const ox_node *node;
    const int32_t *in, *out; /* its values, where the gradient is computed */
    const int32_t *given;    /* gradients of the outputs, OX_NONE for outputs that are not read */
    const bool *wanted;      /* the inputs whose gradient is wanted */
    int32_t *gradients;      /* of inputs: what the rule gives, OX_NONE for none */
} ox_derivative;

/* Writes the gradients of the inputs. False if there is no rule for the node. */
bool ox_derive(ox_derivative *d);

/* What texts of gradients may call. */
extern const ox_macro ox_gradient_macros[];

#endif
