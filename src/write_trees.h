/* write_trees.h: trees laid out for walking: what `ox embed` asks the library for. It is no part of ox.h, for the
 * command and the library are built together. */
#ifndef OX_WRITE_TREES_H
#define OX_WRITE_TREES_H

#include "ox.h"

/* Takes words as they are to lie in memory. */
typedef void ox_words_fn(void *context, const int64_t *words, size_t count);

/* Lays out the trees of a model whose one node is TreeEnsembleClassifier or TreeEnsembleRegressor: the words are the
 * tensor of its attribute __trees, which stands in place of those with nodes and votes. An error if they cannot be laid
 * out so. */
ox_status ox_model_write_trees(const ox_model *model, ox_words_fn *put, void *context, ox_error *error);

#endif
