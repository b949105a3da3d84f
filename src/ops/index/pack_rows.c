/* pack_rows.c: PackRows. */
#include "pack_rows.h"

#include <string.h>

#include "asserts.h"
#include "loops/lanes.h"
#include "ops/blocks.h"
#include "ops/dense.h"
#include "unpack_bits.h"

#if OX_WITH_OWN_OPERATORS

#define SIGNED (OX_BIT(OX_INT8) | OX_BIT(OX_INT4) | OX_BIT(OX_INT2))
#define CODES (SIGNED | OX_BIT(OX_UINT8) | OX_BIT(OX_UINT4) | OX_BIT(OX_UINT2))

enum {
    TILE = 64, /* rows and columns that are transposed at a time, */
    PAIRS = 64 /* and bytes of two codes each */
};

/* The matrix that is packed. */
typedef struct code_matrix {
    ox_dtype dtype;
    int64_t dims[2];
    bool packed; /* its rows are bytes as UnpackBits reads them */
} code_matrix;

static ox_status read_codes(ox_call *call, code_matrix *read) {
    const ox_tensor *x = call->in[0];
    const int64_t type = ox_call_int(call, "dtype", OX_UNDEFINED);
    *read = (code_matrix){.dtype = x->dtype, .packed = type != OX_UNDEFINED};
    OX_TRY(ox_call_check_dtype(call, 0, read->packed ? OX_BIT(OX_UINT8) : CODES));
    if (x->rank != 2 || !x->dims[0] || !x->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a matrix with elements", OX_INPUT(call, 0));
    memcpy(read->dims, x->dims, sizeof read->dims);
    if (!read->packed)
        return OX_OK;
    if (type < 0 || type >= OX_DTYPE_COUNT || !(OX_BIT(type) & OX_SET_PACKED))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'dtype' is %lld, no integer of 4 or 2 bits",
                            (long long)type);
    read->dtype = (ox_dtype)type;
    if (!ox_mul_i64(x->dims[1], 8 / ox_dtype_bits(read->dtype), &read->dims[1]))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has too many elements", OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status infer(ox_call *call) {
    const int64_t block = ox_call_int(call, "block", 0);
    code_matrix x;
    OX_TRY(read_codes(call, &x));
    const int bits = ox_dtype_bits(x.dtype);
    const int by_row = ox_call_int(call, "by_row", 0) != 0;
    const int64_t k = x.dims[by_row], blocks = block ? (k - 1) / block + 1 : 1;
    const int64_t dims[] = {x.dims[!by_row], blocks, ox_bits_bytes(block ? block : k, bits)};
    return ox_call_output(call, 0, OX_UINT8, block ? 3 : 2, block ? dims : (int64_t[]){dims[0], dims[2]});
}

typedef struct pack_job {
    const uint8_t *x;
    uint8_t *to;
    ox_transpose_fn *transpose; /* NULL: rows lie in x */
    int64_t k, n, row;          /* bytes of a packed row */
    int bits, above;            /* what is added to codes, modulo 2^bits */
    bool packed;                /* x is */
} pack_job;

/* Codes in whole bytes, and those of the last byte. */
static inline __attribute__((always_inline)) void pack_some(const int bits, int above, int64_t count,
                                                            const uint8_t *codes, uint8_t *to) {
    const int each = 8 / bits, mask = (1 << bits) - 1;
    const int64_t whole = count / each;
    for (int64_t i = 0; i < whole; i++) {
        int byte = 0;
        for (int l = 0; l < each; l++)
            byte |= ((codes[i * each + l] + above) & mask) << (l * bits);
        to[i] = (uint8_t)byte;
    }
    int last = 0;
    for (int64_t i = whole * each; i < count; i++)
        last |= ((codes[i] + above) & mask) << ((i - whole * each) * bits);
    if (whole * each < count)
        to[whole] = (uint8_t)last;
}

/* Codes of a row at their place, which begins with a whole byte. */
static void pack_codes(const pack_job *job, int64_t count, const uint8_t *codes, uint8_t *to) {
    if (job->bits == 2)
        pack_some(2, job->above, count, codes, to);
    else if (job->bits == 4)
        pack_some(4, job->above, count, codes, to);
    else
        pack_some(8, job->above, count, codes, to);
}

/* A row that lies packed already: what is added to a code changes its highest bit alone. */
static void copy_row(const pack_job *job, const uint8_t *from, uint8_t *to) {
    const uint8_t flip = (uint8_t)(job->above * (0xff / ((1 << job->bits) - 1)));
    const int64_t bytes = job->k * job->bits / 8;
    for (int64_t i = 0; i < bytes; i++)
        to[i] = from[i] ^ flip;
}

static void pack_row(const pack_job *job, int64_t n) {
    if (job->packed)
        copy_row(job, job->x + n * (job->k * job->bits / 8), job->to + n * job->row);
    else
        pack_codes(job, job->k, job->x + n * job->k, job->to + n * job->row);
}

/* Codes of `rows` columns of x, which become rows, and of `count` along k. */
static void pack_tile(const pack_job *job, int64_t n, int64_t rows, int64_t k, int64_t count) {
    uint8_t turned[TILE * TILE], apart[TILE * TILE];
    const uint8_t *x = job->x + k * job->n + n;
    int64_t step = job->n;
    if (job->packed) { /* codes of 2 bits; tiles begin with whole bytes, and so do rows of x end */
        OX_ASSERT(job->bits == 2);
        for (int64_t i = 0; i < count; i++)
            ox_unpack_bits(OX_UINT2, rows / 4, job->x + (k + i) * (job->n / 4) + n / 4, apart + i * TILE);
        x = apart;
        step = TILE;
    }
    job->transpose(count, rows, (char *)turned, TILE, (const char *)x, step, 0);
    for (int64_t i = 0; i < rows; i++)
        pack_codes(job, count, turned + i * TILE, job->to + (n + i) * job->row + k * job->bits / 8);
}

typedef struct pairs {
    uint64_t words[PAIRS / 8];
} pairs;

/* The first bytes at an address. */
static pairs load_pairs(const uint8_t *from, int64_t bytes) {
    pairs loaded = {{0}};
    if (bytes == PAIRS)
        memcpy(&loaded, from, PAIRS);
    else
        memcpy(&loaded, from, (size_t)bytes);
    return loaded;
}

/* The same of codes of 4 bits that lie packed: of a byte of one row and that below it, the lower halves become a byte
 * of an even row of the result, and the upper ones of the next row. */
static void turn_pairs(const pack_job *job, int64_t n, int64_t rows, int64_t k, int64_t count) {
    const uint64_t low = 0x0f0f0f0f0f0f0f0f;
    const int64_t row = job->n / 2, bytes = rows / 2, turned = (count + 1) / 2;
    const uint8_t *x = job->x + k * row + n / 2;
    pairs even[PAIRS], odd[PAIRS];
    for (int64_t i = 0; i < turned; i++, x += 2 * row) {
        const bool is_whole = 2 * i + 1 < count;
        const uint64_t flip = !job->above ? 0 : is_whole ? 0x8888888888888888 : 0x0808080808080808;
        const pairs a = load_pairs(x, bytes), b = load_pairs(x + row, is_whole ? bytes : 0);
        for (int w = 0; w < PAIRS / 8; w++) {
            even[i].words[w] = ((a.words[w] & low) | (b.words[w] & low) << 4) ^ flip;
            odd[i].words[w] = ((a.words[w] >> 4 & low) | (b.words[w] & ~low)) ^ flip;
        }
    }
    char *to = (char *)job->to + n * job->row + k / 2;
    job->transpose(turned, bytes, to, 2 * job->row, (const char *)even, PAIRS, 0);
    job->transpose(turned, bytes, to + job->row, 2 * job->row, (const char *)odd, PAIRS, 0);
}

static void pack_part(void *context, int part, int parts) {
    const pack_job *job = context;
    const bool has_pairs = job->transpose && job->packed && job->bits == 4;
    const int64_t unit = has_pairs ? 2 * PAIRS : job->transpose ? TILE : 1; /* what lies packed is cut between bytes */
    int64_t first, end;
    ox_pool_range((job->n - 1) / unit + 1, part, parts, &first, &end);
    if (first >= end)
        return;
    first *= unit;
    end = ox_least(end * unit, job->n);
    memset(job->to + first * job->row, 0, (size_t)((end - first) * job->row));
    for (; !job->transpose && first < end; first++)
        pack_row(job, first);
    for (int64_t n = first; n < end; n += unit)
        for (int64_t k = 0; k < job->k; k += unit)
            (has_pairs ? turn_pairs : pack_tile)(job, n, ox_least(unit, end - n), k, ox_least(unit, job->k - k));
}

static ox_status run(ox_call *call) {
    const int by_row = ox_call_int(call, "by_row", 0) != 0;
    code_matrix x;
    OX_TRY(read_codes(call, &x));
    pack_job job = {.x = call->in[0]->data,
                    .to = call->out[0]->data,
                    .transpose = by_row ? NULL : call->loops->transpose(1),
                    .k = x.dims[by_row],
                    .n = x.dims[!by_row],
                    .bits = ox_dtype_bits(x.dtype),
                    .packed = x.packed};
    job.row = ox_count(call->out[0]->rank - 1, call->out[0]->dims + 1);
    job.above = SIGNED & OX_BIT(x.dtype) ? 1 << (job.bits - 1) : 0;
    ox_pool_run_pieces(call->pool, (double)x.dims[0] * (double)x.dims[1], pack_part, &job);
    return OX_OK;
}

static ox_status prepare(ox_call *call) {
    (void)call;
    return OX_OK;
}

const ox_op ox_op_pack_rows = {.domain = "",
                               .name = "PackRows",
                               .since = 1,
                               .versions = 2,
                               .min_in = 1,
                               .max_in = 1,
                               .min_out = 1,
                               .max_out = 1,
                               .dtypes = CODES,
                               .infer = infer,
                               .prepare = prepare,
                               .run = run};
#endif
