/* split.c: StringSplit. Its pieces are parts of the strings it gets: no bytes move. */
#include <string.h>

#include "ops/dense.h"
#include "text.h"

typedef struct splitter {
    ox_string delimiter; /* empty: white space */
    int64_t most;        /* splits; all if below 0 */
} splitter;

static splitter read_splitter(ox_call *call) {
    return (splitter){ox_call_string(call, "delimiter", ""), ox_call_int(call, "maxsplit", -1)};
}

/* Takes white space from the start of a text. */
static ox_string without_space(ox_string s) {
    for (int bytes; s.size && ox_is_space(ox_utf8_next(s.data, s.size, &bytes));) {
        s.data += bytes;
        s.size -= (size_t)bytes;
    }
    return s;
}

/* Bytes up to the next white space. */
static size_t word_size(ox_string s) {
    int bytes;
    for (size_t i = 0; i < s.size; i += (size_t)bytes)
        if (ox_is_space(ox_utf8_next(s.data + i, s.size - i, &bytes)))
            return i;
    return s.size;
}

/* Bytes up to the next delimiter; all if there is none. */
static size_t piece_size(ox_string s, ox_string delimiter) {
    const char *at = s.data, *end = s.data + s.size;
    while (at && (size_t)(end - at) >= delimiter.size) {
        at = memchr(at, delimiter.data[0], (size_t)(end - at) - delimiter.size + 1);
        if (at && !memcmp(at, delimiter.data, delimiter.size))
            return (size_t)(at - s.data);
        at = at ? at + 1 : NULL;
    }
    return s.size;
}

static ox_string behind(ox_string s, size_t size) {
    return (ox_string){s.data + size, s.size - size};
}

static int64_t split_words(const splitter *how, ox_string s, ox_string *pieces) {
    int64_t count = 0;
    for (s = without_space(s); s.size; s = without_space(s), count++) {
        const size_t size = count == how->most ? s.size : word_size(s);
        if (pieces)
            pieces[count] = (ox_string){s.data, size};
        s = behind(s, size);
    }
    return count;
}

static int64_t split_pieces(const splitter *how, ox_string s, ox_string *pieces) {
    for (int64_t count = 0;; count++) {
        const size_t size = count == how->most || !s.size ? s.size : piece_size(s, how->delimiter);
        if (pieces)
            pieces[count] = (ox_string){s.data, size};
        if (size == s.size)
            return count + 1;
        s = behind(s, size + how->delimiter.size);
    }
}

/* How many pieces a string gives; they are written where pieces is not NULL. */
static int64_t split(const splitter *how, ox_string s, ox_string *pieces) {
    return how->delimiter.size ? split_pieces(how, s, pieces) : split_words(how, s, pieces);
}

ox_status ox_infer_string_split(ox_call *call) {
    const splitter how = read_splitter(call);
    const ox_tensor *x;
    int64_t dims[OX_MAX_RANK], most = 0;
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_STRING)));
    OX_TRY(ox_call_data(call, 0, &x));
    if (x->rank == OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the output would have rank %d, at most %d is supported", x->rank + 1,
                            OX_MAX_RANK);
    for (int64_t i = 0, count = ox_tensor_count(x); i < count && !ox_pool_poll(call->pool); i++) {
        const int64_t pieces = split(&how, *ox_string_at(x, i), NULL);
        most = pieces > most ? pieces : most;
    }
    for (int d = 0; d < x->rank; d++)
        dims[d] = x->dims[d];
    dims[x->rank] = most;
    OX_TRY(ox_call_output(call, 0, OX_STRING, x->rank + 1, dims));
    return call->nout > 1 ? ox_call_output(call, 1, OX_INT64, x->rank, x->dims) : OX_OK;
}

ox_status ox_run_string_split(ox_call *call) {
    const splitter how = read_splitter(call);
    const ox_tensor *x = call->in[0], *out = call->out[0];
    int64_t *counts = call->nout > 1 && call->out[1] ? call->out[1]->data : NULL;
    const int64_t width = out ? out->dims[out->rank - 1] : 0;
    for (int64_t i = 0, count = ox_tensor_count(x); i < count && !ox_pool_poll(call->pool); i++) {
        ox_string *pieces = out ? (ox_string *)out->data + i * width : NULL;
        const int64_t n = split(&how, *ox_string_at(x, i), pieces);
        for (int64_t k = n; k < width; k++)
            pieces[k] = (ox_string){"", 0};
        if (counts)
            counts[i] = n;
    }
    return OX_OK;
}
