/* ml.h: what the operators of ai.onnx.ml share: rows of numbers, attributes that are lists, labels, transforms. */
#ifndef OX_OPS_ML_ML_H
#define OX_OPS_ML_ML_H

#include "ops/dense.h"

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

/* Infer: input i as rows: one dimension is one row, two are [rows, columns], others are an error. */
ox_status ox_ml_rows(const ox_call *call, int i, int64_t *rows, int64_t *columns);

/* n numbers of float, double, int32 or int64 as doubles. */
void ox_ml_widen(ox_dtype dtype, int64_t n, const void *from, double *to);

/* Prepare: workspace for ox_ml_doubles. */
ox_status ox_ml_plan_doubles(ox_call *call, const ox_tensor *tensor);

/* Run: the elements of a packed tensor of numbers as doubles: its own, or a copy in the workspace. */
const ox_f64 *ox_ml_doubles(const ox_call *call, size_t *used, const ox_tensor *tensor);

/* The sum of products of n numbers. */
double ox_ml_dot(int64_t n, const ox_f64 *a, const float *b);

/* ---- Attributes --------------------------------------------------------------------------------------------- */

/* A list of numbers: an attribute of floats, or a tensor. Empty where it is missing. */
typedef struct ox_ml_numbers {
    const char *name;
    size_t count;
    const float *floats;
    const ox_tensor *tensor;
} ox_ml_numbers;

/* The attribute NAME of floats, or NAME_as_tensor in its place; both are an error. */
ox_status ox_ml_read_numbers(ox_call *call, const char *name, const char *tensor_name, ox_ml_numbers *numbers);
double ox_ml_number(const ox_ml_numbers *numbers, size_t i);

/* A list of labels: integers, or strings, which live as long as the model. */
typedef struct ox_ml_labels {
    size_t count;
    const int64_t *ints;
    const ox_string *strings;
} ox_ml_labels;

/* One of two attributes, which must have at least one label. */
ox_status ox_ml_read_labels(ox_call *call, const char *ints, const char *strings, ox_ml_labels *labels);
ox_dtype ox_ml_labels_dtype(const ox_ml_labels *labels);
/* Writes label k as element i of a tensor of that type. */
void ox_ml_put_label(const ox_ml_labels *labels, size_t k, void *data, int64_t i);

/* The place of a string in a list of `count` names that an attribute must be one of; an error names the attribute. */
ox_status ox_ml_choice(ox_call *call, const char *attr, const char *const *names, int count, int *choice);

/* An error if an attribute has another number of elements than `wanted`, which `why` explains. */
ox_status ox_ml_check_count(const ox_call *call, const char *attr, size_t count, int64_t wanted, const char *why);

/* ---- Scores ------------------------------------------------------------------------------------------------- */

typedef enum ox_ml_transform {
    OX_ML_NONE,
    OX_ML_SOFTMAX,
    OX_ML_LOGISTIC,
    OX_ML_SOFTMAX_ZERO,
    OX_ML_PROBIT
} ox_ml_transform;

/* The attribute post_transform, as a text. */
ox_status ox_ml_read_transform(ox_call *call, ox_ml_transform *transform);
void ox_ml_apply(ox_ml_transform transform, int64_t n, double *scores);

/* The scores of two classes where the operator computed that of the second one alone. The other score is 1 - score
 * where `is_share` says so and the transform is not LOGISTIC, otherwise -score. SOFTMAX and SOFTMAX_ZERO change
 * neither. */
void ox_ml_apply_to_pair(ox_ml_transform transform, bool is_share, double score, double scores[2]);

/* The first of the largest scores. */
int64_t ox_ml_best(int64_t n, const double *scores);

/* Sorts `count` indices by `before`, which has to be a strict order. No recursion, no memory. */
typedef bool ox_ml_before(const void *context, int64_t a, int64_t b);
void ox_ml_sort(int64_t count, int64_t *indices, ox_ml_before *before, const void *context);

#endif
