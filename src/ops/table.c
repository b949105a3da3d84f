/* table.c: the operator table, expanded from table.inc. */
#include "control.h"
#include "elementwise.h"
#include "epilogue.h"

#include <string.h>

#define OX_SET_DENSE (OX_SET_FLOAT | OX_BIT(OX_INT32) | OX_BIT(OX_INT64) | OX_BIT(OX_UINT32) | OX_BIT(OX_UINT64))
#define OX_SET_PRELU OX_SET_DENSE
#define OX_SET_CAST (OX_SET_ALL & ~OX_SET_COMPLEX)
#define OX_SET_IEEE8 (OX_SET_FLOAT8 & ~OX_BIT(OX_FLOAT8E8M0))
#define OX_SET_INT8 (OX_BIT(OX_INT8) | OX_BIT(OX_UINT8))
#define OX_SET_ML (OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE) | OX_BIT(OX_INT64) | OX_BIT(OX_INT32))
#define OX_SET_PRECISE (OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16) | OX_BIT(OX_INT32))
#define OX_SET_QUANTIZED                                                                                               \
    (OX_SET_TINY | OX_SET_IEEE8 | OX_BIT(OX_UINT8) | OX_BIT(OX_INT8) | OX_BIT(OX_UINT16) | OX_BIT(OX_INT16))
#define OX_SET_RANGE (OX_SET_FLOAT | OX_BIT(OX_INT16) | OX_BIT(OX_INT32) | OX_BIT(OX_INT64))
#define OX_SET_REDUCE_ORDER (OX_SET_DENSE | OX_BIT(OX_INT8) | OX_BIT(OX_UINT8))
#define OX_SET_UP_TO_FLOAT (OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16))
#define OX_SET_ONEDNN OX_SET_UP_TO_FLOAT

/* Every function that a row names is declared by that row. */
ox_call_fn ox_prepare_elementwise, ox_run_elementwise;
#define OP_IN(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, flags)               \
    ox_call_fn ox_infer_##infer, ox_prepare_##prepare, ox_run_##run;
#define OP(...) OP_IN("", __VA_ARGS__)
#define LANES(name, since, min_in, max_in, dtypes, infer, emit, lanes, flags)                                          \
    ox_call_fn ox_infer_##infer;                                                                                       \
    ox_emit_fn ox_emit_##emit;
#define MIXED_OUT(name, since, min_in, max_in, max_out, dtypes, infer, emit, other, flags)                             \
    ox_call_fn ox_infer_##infer, ox_prepare_##other, ox_run_##other;                                                   \
    ox_emit_fn ox_emit_##emit;                                                                                         \
    bool ox_fits_##other(const ox_call *call);
/* Small builds have no passes over rows: each operator runs by itself. */
#define MIXED(name, since, min_in, max_in, ...) MIXED_OUT(name, since, min_in, max_in, 1, __VA_ARGS__)
#define ROWS(name, since, min_in, max_in, ...) ROWS_OUT(name, since, min_in, max_in, 1, __VA_ARGS__)
#if OX_WITH_SCALES
#define SCALED(...) MIXED(__VA_ARGS__)
#else
#define SCALED(name, since, min_in, max_in, dtypes, infer, emit, run, flags)                                           \
    OP(name, since, min_in, max_in, 1, 1, dtypes, infer, run, run, OX_OP_STRIDED | OX_OP_IN_PLACE | (flags))
#endif
#if OX_SMALL
#define ROWS_OUT(name, since, min_in, max_in, max_out, dtypes, infer, emit, run, flags)                                \
    OP(name, since, min_in, max_in, 1, max_out, dtypes, infer, emit, run, OX_OP_STRIDED | OX_OP_IN_PLACE | (flags))
#else
#define ROWS_OUT(name, since, min_in, max_in, max_out, dtypes, infer, emit, run, flags)                                \
    ox_call_fn ox_infer_##infer, ox_prepare_##emit, ox_run_##run;                                                      \
    ox_emit_fn ox_emit_##emit;                                                                                         \
    int ox_rows_##run(const ox_call *call);
#endif
/* What follows dense operators runs by itself there, too. */
#define DENSE(...) DENSE_IN("", __VA_ARGS__)
#if OX_WITH_EPILOGUES
#define DENSE_IN(domain, name, since, min_in, max_in, dtypes, run, emit, flags)                                        \
    ox_call_fn ox_infer_##run, ox_prepare_##run, ox_run_##run;                                                         \
    ox_dense_emit_fn ox_emit_##emit;
#else
#define DENSE_IN(domain, name, since, min_in, max_in, dtypes, run, emit, flags)                                        \
    OP_IN(domain, name, since, min_in, max_in, 1, 1, dtypes, run, run, run, flags)
#endif
#define CONTROL(name, since, min_in, max_in, dtypes, run, flags) ox_call_fn ox_infer_##run, ox_control_##run;
#define BODIES_IN(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, flags, control,  \
                  control_flags)                                                                                       \
    ox_call_fn ox_infer_##infer, ox_prepare_##prepare, ox_run_##run, ox_control_##control;
#define GONE(domain, name, since)
#define PLANNED(symbol)
#include OX_TABLE
#undef GONE
#undef OP_IN
#undef BODIES_IN
#undef LANES
#undef MIXED_OUT
#undef CONTROL
#if !OX_SMALL
#undef ROWS_OUT
#endif
#if OX_WITH_EPILOGUES
#undef DENSE_IN
#endif

ox_status ox_prepare_none(ox_call *call) {
    (void)call;
    return OX_OK;
}

ox_status ox_run_none(ox_call *call) {
    (void)call;
    return OX_OK;
}

/* What a row's list of versions becomes: the first one, and a bit for each. Bit 0 is for those that are not there. */
#define FIRST(...) FIRST_(__VA_ARGS__, 0)
#define FIRST_(first, ...) first
#define VERSIONS(...) VERSIONS_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define VERSIONS_(a, b, c, d, e, f, g, h, i, j, k, ...)                                                                \
    (BIT(a) | BIT(b) | BIT(c) | BIT(d) | BIT(e) | BIT(f) | BIT(g) | BIT(h) | BIT(i) | BIT(j) | BIT(k))
#define BIT(version) ((uint64_t)1 << (version))

#ifdef OX_SELECTION
/* Prepare and run of what the loader should have rewritten. */
__attribute__((unused)) static ox_status refuse(ox_call *call) {
    return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "this build of the library has %s only until it is rewritten",
                        call->op->name);
}
#endif

static const ox_op table[] = {
#define INFER(infer) ox_infer_##infer
#define END ,
/* How much of a row is there: all of it, or what the loader needs until it rewrites nodes (select.awk). */
#define HOW WHOLE
#define PREPARE(prepare) PART(PREPARE, HOW)(prepare)
#define RUN(run) PART(RUN, HOW)(run)
#define DETAIL(detail) PART(DETAIL, HOW)(detail)
#define PART(part, how) PART_(part, how)
#define PART_(part, how) part##_##how
#define PREPARE_WHOLE(prepare) ox_prepare_##prepare
#define RUN_WHOLE(run) ox_run_##run
#define DETAIL_WHOLE(detail) detail
#define PREPARE_EARLY(prepare) refuse
#define RUN_EARLY(run) refuse
#define DETAIL_EARLY(detail) NULL
/* An operator with what its kind knows besides. */
#define ROW(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, detail, flags)         \
    {                                                                                                                  \
        domain, #name, FIRST since, VERSIONS since, min_in, max_in, min_out, max_out, dtypes, INFER(infer),            \
            PREPARE(prepare), RUN(run), DETAIL(detail), flags                                                          \
    }
#define OP_IN(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, flags)               \
    ROW(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, NULL, flags) END
#define DETAILED(name, since, min_in, max_in, max_out, dtypes, infer, prepare, run, detail, flags)                     \
    ROW("", name, since, min_in, max_in, 1, max_out, dtypes, infer, prepare, run, detail, flags) END
#define BODIES_IN(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run, flags, control,  \
                  control_flags)                                                                                       \
    ROW(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, prepare, run,                            \
        (&(const ox_op)ROW(domain, name, since, min_in, max_in, min_out, max_out, dtypes, infer, none, none,           \
                           (&(const ox_control){ox_control_##control}), control_flags)),                               \
        flags)                                                                                                         \
    END
#define PROGRAM(name, since, min_in, max_in, max_out, dtypes, infer, prepare, run, flags, ...)                         \
    DETAILED(name, since, min_in, max_in, max_out, dtypes, infer, prepare, run,                                        \
             (&(const ox_elementwise){__VA_ARGS__}), OX_OP_STRIDED | OX_OP_IN_PLACE | OX_OP_PASS | (flags))
#define LANES(name, since, min_in, max_in, dtypes, infer, emit, lanes, flags)                                          \
    PROGRAM(name, since, min_in, max_in, 1, dtypes, infer, elementwise, elementwise, flags, ox_emit_##emit,            \
            OX_LANES_##lanes, NULL, NULL)
#define MIXED_OUT(name, since, min_in, max_in, max_out, dtypes, infer, emit, other, flags)                             \
    PROGRAM(name, since, min_in, max_in, max_out, dtypes, infer, other, other, flags, ox_emit_##emit, OX_LANES_none,   \
            ox_fits_##other, NULL)
#if !OX_SMALL
#define ROWS_OUT(name, since, min_in, max_in, max_out, dtypes, infer, emit, run, flags)                                \
    PROGRAM(name, since, min_in, max_in, max_out, dtypes, infer, emit, run, flags, ox_emit_##emit, OX_LANES_none,      \
            NULL, ox_rows_##run)
#endif
#if OX_WITH_EPILOGUES
#define DENSE_IN(domain, name, since, min_in, max_in, dtypes, run, emit, flags)                                        \
    ROW(domain, name, since, min_in, max_in, 1, 1, dtypes, run, run, run, (&(const ox_dense){ox_emit_##emit}),         \
        OX_OP_EPILOGUE | (flags))                                                                                      \
    END
#endif
#define CONTROL(name, since, min_in, max_in, dtypes, run, flags)                                                       \
    DETAILED(name, since, min_in, max_in, OX_ANY, dtypes, run, none, none, (&(const ox_control){ox_control_##run}),    \
             flags)
/* Where a reduced build has left out a row, the one before it must not serve its versions, too. */
#define GONE(domain, name, since) {domain, #name, FIRST since, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0},
#include OX_TABLE
};

/* Plans name the rows that their steps are of (planned.h), so that nothing else is linked, and what infers is not. Of
 * those the list says the symbols (select.awk). */
#ifdef OX_SELECTION
#undef INFER
#undef END
#undef GONE
#undef PLANNED
#define INFER(infer) NULL
#define END ;
#define GONE(domain, name, since)
#define PLANNED(symbol)                                                                                                \
    extern const ox_op symbol;                                                                                         \
    const ox_op symbol =
#include OX_TABLE
#endif

enum {
    TABLE_ROWS = sizeof table / sizeof *table
};

int ox_newest_opset(const char *domain) {
    static const ox_opset newest[] = {{"", 28},
                                      {"ai.onnx.ml", 5},
                                      {"ai.onnx.preview", 1},
                                      {"ai.onnx.preview.training", 1},
                                      {"com.microsoft", 1},
                                      {"com.microsoft.nchwc", 1},
                                      {"onednn.graph", 1}};
    for (size_t i = 0; i < sizeof newest / sizeof *newest; i++)
        if (!ox_text_order(newest[i].domain, domain))
            return (int)newest[i].version;
    return 0;
}

int ox_op_order(const ox_op *row, const char *domain, const char *name) {
    int order = ox_text_order(row->domain, domain);
    return order ? order : ox_text_order(row->name, name);
}

const ox_op *ox_op_find_in(const ox_op *rows, size_t count, const char *domain, const char *name, int version,
                           bool *newer) {
    size_t low = 0, high = count;
    while (low < high) { /* the first row of that name */
        size_t middle = (low + high) / 2;
        if (ox_op_order(&rows[middle], domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const ox_op *found = NULL;
    bool any = false;
    for (; low < count && !ox_op_order(&rows[low], domain, name); low++) {
        any = true;
        if (rows[low].since <= version)
            found = rows[low].infer ? &rows[low] : NULL;
    }
    if (newer)
        *newer = any && !found;
    return found;
}

const ox_op *ox_op_find(const char *domain, const char *name, int version, bool *newer) {
    return ox_op_find_in(table, TABLE_ROWS, domain, name, version, newer);
}

size_t ox_op_count(void) {
    return TABLE_ROWS;
}

ox_status ox_op_get(size_t index, ox_op_info *info) {
    if (index >= TABLE_ROWS || !info)
        return OX_ERROR_ARGUMENT;
    const ox_op *row = &table[index];
    *info = (ox_op_info){.domain = row->domain,
                         .name = row->name,
                         .versions = row->versions & ~(uint64_t)1,
                         .dtypes = row->dtypes,
                         .min_inputs = row->min_in,
                         .max_inputs = row->max_in,
                         .min_outputs = row->min_out,
                         .max_outputs = row->max_out};
    return OX_OK;
}

int ox_op_version(const ox_op *op, int opset) {
    int version = opset < 63 ? opset : 63;
    while (version > op->since && !(op->versions >> version & 1))
        version--;
    return version > op->since ? version : op->since;
}
