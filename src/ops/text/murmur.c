/* murmur.c: MurmurHash3 of com.microsoft: a hash of 32 bits of each element. Numbers are hashed by their bytes, the
 * lowest first. */
#include "ops/dense.h"
#include "text.h"

ox_status ox_infer_murmur_hash(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    const ox_tensor *x = call->in[0];
    return ox_call_output(call, 0, ox_call_int(call, "positive", 1) ? OX_UINT32 : OX_INT32, x->rank, x->dims);
}

static uint32_t rotate(uint32_t x, int bits) {
    return x << bits | x >> (32 - bits);
}

/* One of the blocks of four bytes, before it joins the others. */
static uint32_t scramble(uint32_t block) {
    return rotate(block * 0xcc9e2d51, 15) * 0x1b873593;
}

/* The number that up to four bytes from `first` on are, the first one lowest. */
static uint32_t block_of(const char *bytes, size_t first, size_t end) {
    uint32_t block = 0;
    for (size_t i = end; i-- > first;)
        block = block << 8 | (unsigned char)bytes[i];
    return block;
}

static uint32_t hash_of(const char *bytes, size_t count, uint32_t hash) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        hash = rotate(hash ^ scramble(block_of(bytes, i, i + 4)), 13) * 5 + 0xe6546b64;
    hash ^= scramble(block_of(bytes, i, count));
    hash ^= (uint32_t)count;
    hash = (hash ^ hash >> 16) * 0x85ebca6b;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35;
    return hash ^ hash >> 16;
}

/* The bytes of a number, the lowest first. */
static void put_number(const char *from, size_t size, char *bytes) {
    const uint64_t number = size == 4 ? OX_GET(ox_u32, from) : OX_GET(ox_u64, from);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(number >> 8 * i);
}

static uint32_t hash_element(const ox_tensor *x, int64_t i, uint32_t seed) {
    const size_t size = ox_dtype_size(x->dtype);
    char bytes[8];
    if (x->dtype == OX_STRING)
        return hash_of(ox_string_at(x, i)->data, ox_string_at(x, i)->size, seed);
    put_number((const char *)x->data + (size_t)i * size, size, bytes);
    return hash_of(bytes, size, seed);
}

ox_status ox_run_murmur_hash(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const uint32_t seed = (uint32_t)ox_call_int(call, "seed", 0);
    const int64_t count = ox_tensor_count(x);
    uint32_t *out = call->out[0]->data;
    for (int64_t i = 0; i < count; i++) {
        if (i % 1024 == 0 && ox_pool_poll(call->pool))
            break;
        out[i] = hash_element(x, i, seed);
    }
    return OX_OK;
}
