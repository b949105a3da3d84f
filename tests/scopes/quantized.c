/* quantized.c: sums of bytes that become bytes: QLinearConv by every way, QLinearMatMul, and networks of them and of
 * transposed convolutions between DequantizeLinear and QuantizeLinear, in every build of the loops and beside an
 * evaluation. Widths are about vectors and tiles, bytes are of the whole range, and factors of all kinds. */
#include <math.h>
#include <string.h>

#include "scopes.h"

static const ox_dtype types[] = {OX_UINT8, OX_INT8};

/* ---- Data ------------------------------------------------------------------------------------------------------ */

static ox_dtype any_type(scope *s) {
    return types[scope_draw(s, 2)];
}

static scope_place any_direct(scope *s) {
    return (scope_place)scope_draw(s, SCOPE_IN_GRAPH);
}

/* Mostly constants, which have layouts and ways of their own. */
static scope_place any_weight(scope *s) {
    return scope_draw(s, 4) ? SCOPE_CONSTANT : any_direct(s);
}

static double any_byte(scope *s, ox_dtype dtype) {
    return scope_draw(s, 256) - (dtype == OX_INT8 ? 128 : 0);
}

/* Bytes of all values, or in some graphs the least and the greatest alone. */
static int give_bytes(scope *s, ox_dtype dtype, int rank, const int64_t *dims, scope_place place) {
    const int value = scope_give(s, dtype, rank, dims, place);
    const bool is_extreme = scope_draw(s, 5) == 0;
    const double least = dtype == OX_INT8 ? -128 : 0;
    for (int64_t i = scope_count(rank, dims) - 1; i >= 0; i--)
        s->graph.values[value].numbers[i] = is_extreme ? least + 255 * scope_draw(s, 2) : any_byte(s, dtype);
    return value;
}

/* A zero point, or `count` of them: any byte, the one in the middle, or the least. */
static int give_zeros(scope *s, ox_dtype dtype, int64_t count, scope_place place) {
    const int value = scope_give(s, dtype, count > 1, &count, place), kind = scope_draw(s, 3);
    const double least = dtype == OX_INT8 ? -128 : 0;
    for (int64_t i = 0; i < count; i++)
        s->graph.values[value].numbers[i] = kind == 0 ? any_byte(s, dtype) : kind == 1 ? least + 128 : least;
    return value;
}

enum {
    POWERS, /* of two: results lie in the middle between whole numbers, and sums of floats are exact */
    USUAL,  /* of any digits */
    PARTS,  /* 1 / n */
    EXTREME,
    SCALES
};

static double any_scale(scope *s, int kind) {
    static const float extremes[] = {0,          -0.25F, 1e-38F, 0x1p-101F, 0x1p-140F, 3e38F, (float)INFINITY,
                                     (float)NAN, -1e30F, 1,      0x1p-20F,  -0.0F};
    const double power = ldexp(1, -scope_draw(s, 14));
    if (kind == USUAL)
        return scope_round(OX_FLOAT, power * (1 + ldexp(scope_draw(s, 1 << 23), -23)));
    if (kind == PARTS)
        return scope_round(OX_FLOAT, 1.0 / (1 + scope_draw(s, 300)));
    return kind == EXTREME ? (double)extremes[scope_draw(s, 12)] : power;
}

static int give_scales(scope *s, int kind, int64_t count, scope_place place) {
    const int value = scope_give(s, OX_FLOAT, count > 1, &count, place);
    for (int64_t i = 0; i < count; i++)
        s->graph.values[value].numbers[i] = any_scale(s, kind);
    return value;
}

static int any_kind(scope *s) {
    return scope_draw(s, 3) ? scope_draw(s, EXTREME) : scope_draw(s, SCALES);
}

static int give_bias(scope *s, int64_t count, scope_place place) {
    const int value = scope_give(s, OX_INT32, 1, &count, place);
    for (int64_t i = 0; i < count; i++)
        s->graph.values[value].numbers[i] = scope_draw(s, 1 << 17) - (1 << 16);
    return value;
}

/* A graph whose numbers are looked at beside those of the evaluation, in one build of the loops. */
static bool begin(scope *s, int isa) {
    if (!scope_begin(s))
        return false;
    s->graph.exact = true, s->graph.specials = s->graph.zeros = false;
    s->graph.isa = isa;
    return true;
}

static void end(scope *s, int result) {
    scope_result(s, result);
    scope_check(s);
}

/* ---- Convolutions ---------------------------------------------------------------------------------------------- */

typedef struct conv {
    int64_t images, groups, in, out; /* channels of a group */
    int spatial;
    int64_t size[2], kernel[2], stride[2];
    int64_t pad[4]; /* before an image, and by how much padding behind it is more */
    int64_t dilation[2];
} conv;

static const conv pointwise = {1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};

static void set_windows(scope *s, const conv *c) {
    const int64_t pads[] = {c->pad[0], c->spatial > 1 ? c->pad[1] : c->pad[0], c->pad[0] + c->pad[2],
                            c->pad[1] + c->pad[3]};
    scope_ints(s, "pads", 2 * c->spatial, pads);
    scope_ints(s, "strides", c->spatial, c->stride);
    scope_ints(s, "dilations", c->spatial, c->dilation);
    scope_int(s, "group", c->groups);
}

static void image_dims(const conv *c, int64_t *x, int64_t *w) {
    x[0] = c->images, x[1] = c->groups * c->in;
    w[0] = c->groups * c->out, w[1] = c->in;
    for (int d = 0; d < c->spatial; d++)
        x[2 + d] = c->size[d], w[2 + d] = c->kernel[d];
}

static void any_way(scope *s) {
    static const char *const ways[] = {"picks", "depth", "direct", "rows", "words", "columns"};
    s->graph.conv = scope_draw(s, 2) ? NULL : ways[scope_draw(s, 6)];
}

/* Zero points by which weights are int8, as a way wants them, but for some. */
static int give_middle_zeros(scope *s, ox_dtype dtype, int64_t count) {
    const int value = give_zeros(s, dtype, count, SCOPE_CONSTANT);
    for (int64_t i = 0; i < count && scope_draw(s, 8); i++)
        s->graph.values[value].numbers[i] = dtype == OX_INT8 ? 0 : 128;
    return value;
}

/* Scales and zero points are one, or one for each channel. By a way that is named, weights are constants. */
static int add_conv(scope *s, const conv *c, const char *way) {
    int64_t x[4], w[4];
    image_dims(c, x, w);
    const ox_dtype left = any_type(s), right = any_type(s);
    const int kind = any_kind(s), rank = 2 + c->spatial, images = give_bytes(s, left, rank, x, any_direct(s)),
              weights = give_bytes(s, right, rank, w, way ? SCOPE_CONSTANT : any_weight(s));
    const bool is_int8 = way && !strcmp(way, "picks");
    const int64_t channels = w[0], scales = scope_draw(s, 2) ? channels : 1, zeros = scope_draw(s, 3) ? 1 : channels;
    const scope_place place = any_weight(s);
    const int in[] = {images,
                      give_scales(s, scope_draw(s, 4) ? USUAL : kind, 1, place),
                      give_zeros(s, left, 1, any_weight(s)),
                      weights,
                      give_scales(s, kind, scales, place),
                      is_int8 ? give_middle_zeros(s, right, zeros) : give_zeros(s, right, zeros, any_weight(s)),
                      give_scales(s, scope_draw(s, 4) ? POWERS : kind, 1, place),
                      give_zeros(s, any_type(s), 1, any_weight(s)),
                      give_bias(s, channels, place)};
    any_way(s);
    if (way)
        s->graph.conv = way;
    const int out = scope_node_of(s, "QLinearConv", 8 + scope_draw(s, 2), in);
    set_windows(s, c);
    return out;
}

static void check_conv_by(scope *s, const conv *c, const char *way) {
    for (int isa = 0; isa < s->nisa; isa++)
        if (begin(s, isa))
            end(s, add_conv(s, c, way));
}

static void check_conv(scope *s, const conv *c) {
    check_conv_by(s, c, NULL);
}

/* Products of images as they lie: heights of tiles, vectors of columns, groups of k, and blocks of them. */
static void each_pointwise(scope *s) {
    static const int64_t outs[] = {1, 2, 3, 5, 6, 7, 12, 18}, ins[] = {1, 3, 7, 8, 9, 16, 25, 31},
                         pixels[] = {1, 3, 4, 5, 7, 8, 15, 16, 17, 20, 31, 33};
    for (size_t m = 0; m < sizeof outs / sizeof *outs; m++)
        for (size_t k = 0; k < sizeof ins / sizeof *ins; k++)
            for (size_t n = 0; n < sizeof pixels / sizeof *pixels; n++) {
                conv c = pointwise;
                c.out = outs[m], c.in = ins[k], c.size[0] = pixels[n];
                c.images = 1 + (int64_t)(m + k + n) % 2;
                check_conv(s, &c);
            }
    for (int64_t k = 1020; k <= 1030; k += 3)
        for (int64_t m = 5; m <= 7; m++) {
            conv c = pointwise;
            c.out = m, c.in = k, c.size[0] = 15 + k % 7;
            check_conv(s, &c);
        }
}

/* Kernels of more taps, with strides, dilations and padding. */
static void each_window(scope *s) {
    static const conv windows[] = {
        {1, 1, 3, 6, 2, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {2, 1, 5, 7, 2, {6, 5}, {2, 3}, {1, 2}, {0, 1}, {1, 1}},
        {1, 2, 8, 3, 2, {9, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
        {2, 1, 4, 13, 1, {19, 1}, {5, 1}, {2, 1}, {2, 0}, {1, 1}},
        {1, 3, 2, 9, 2, {7, 9}, {3, 2}, {1, 1}, {2, 1}, {2, 3}},
        {1, 1, 3, 16, 2, {11, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
        {1, 1, 17, 12, 2, {4, 17}, {1, 3}, {1, 1}, {0, 1}, {1, 1}},
        {1, 1, 40, 8, 2, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {3, 2, 8, 17, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 1}},
        {2, 1, 16, 33, 2, {7, 6}, {3, 2}, {2, 1}, {1, 0}, {1, 1}},
        {1, 2, 24, 5, 1, {9, 1}, {4, 1}, {1, 1}, {2, 0}, {1, 1}},
    };
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (int round = 0; round < 12; round++)
            check_conv(s, &windows[i]);
}

/* Pixels as rows: tiles of them, vectors of channels, and words of what windows see. */
static void each_rows(scope *s) {
    static const int64_t outs[] = {2, 15, 17, 66}, ins[] = {4, 8, 12}, sizes[] = {1, 5, 7, 13};
    for (size_t m = 0; m < sizeof outs / sizeof *outs; m++)
        for (size_t k = 0; k < sizeof ins / sizeof *ins; k++)
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
                for (int64_t taps = 1; taps <= 3; taps++) {
                    conv c = pointwise;
                    c.images = 1 + (int64_t)(n + k) % 3, c.groups = 1 + (int64_t)(m + k) % 2;
                    c.in = ins[k], c.out = outs[m], c.spatial = 2;
                    c.size[0] = sizes[n] + 1, c.size[1] = sizes[n] + 2;
                    c.kernel[0] = taps, c.kernel[1] = 1 + (taps + 1) % 3;
                    c.stride[n % 2] += (int64_t)m % 2, c.dilation[0] += n == 2;
                    c.pad[0] = taps / 2 + (k == 1 && taps > 1), c.pad[1] = c.kernel[1] / 2;
                    check_conv_by(s, &c, "rows");
                }
}

/* Lines of results as long as those of the image, whose words are read where they lie: widths about vectors and tiles,
 * lines that end within a vector, uneven padding, more groups of k than a block, and dilations larger than the image.
 */
static void each_placed(scope *s) {
    static const int64_t kernels[][2] = {{3, 3}, {1, 3}, {2, 2}, {5, 1}, {4, 5}}, ins[] = {2, 8, 11, 130};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int64_t wide = 1; wide <= 70; wide += wide < 20 ? 1 : 7)
            for (int64_t dilation = 1; dilation <= 3; dilation++) {
                const int64_t turn = (int64_t)k + wide + dilation, reach = (kernels[k][1] - 1) * dilation;
                const bool is_deep = turn % 4 == 3;
                conv c = {.images = 1 + turn % 2, .groups = is_deep ? 1 : 1 + turn % 3, .in = ins[turn % 4]};
                c.out = 1 + turn % 14, c.spatial = 2, c.size[0] = is_deep ? 2 : 1 + (turn * 5) % 9, c.size[1] = wide,
                c.pad[0] = turn % 4;
                c.pad[1] = turn % (reach + 1), c.pad[3] = reach - 2 * c.pad[1];
                for (int d = 0; d < 2; d++)
                    c.kernel[d] = kernels[k][d], c.stride[d] = 1, c.dilation[d] = dilation;
                if (c.size[0] + 2 * c.pad[0] > (c.kernel[0] - 1) * dilation)
                    check_conv_by(s, &c, "words");
            }
}

/* One input channel for each group: rows of all widths about those of vectors, which pick what windows see. */
static void each_depth(scope *s) {
    static const int64_t kernels[][2] = {{3, 3}, {5, 5}, {1, 4}, {3, 1}, {2, 9}};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int64_t wide = 1; wide <= 41; wide += wide < 20 ? 1 : 3)
            for (int64_t stride = 1; stride <= 3; stride++)
                for (int64_t dilation = 1; dilation <= 2; dilation++)
                    for (int64_t pad = 0; pad <= 2; pad++) {
                        conv c = {.images = 1, .groups = 3, .in = 1, .out = 1 + wide % 2, .spatial = 2};
                        c.size[0] = 1 + (wide + stride) % 6, c.size[1] = wide;
                        for (int d = 0; d < 2; d++)
                            c.kernel[d] = kernels[k][d], c.stride[d] = stride, c.dilation[d] = dilation, c.pad[d] = pad;
                        if (c.size[0] + 2 * pad > (c.kernel[0] - 1) * dilation &&
                            wide + 2 * pad > (c.kernel[1] - 1) * dilation)
                            check_conv(s, &c);
                    }
}

/* The same, of images that lie in one or two registers, or whose blocks of windows see that much: sizes about those. */
static void each_picks(scope *s) {
    static const int64_t sizes[][2] = {{1, 1},  {2, 3},   {4, 4},   {5, 5},   {7, 7},  {7, 9},   {8, 8},
                                       {4, 16}, {5, 13},  {3, 21},  {1, 64},  {9, 14}, {1, 127}, {8, 16},
                                       {3, 43}, {1, 130}, {12, 11}, {14, 14}, {3, 40}, {17, 16}},
                         kernels[][2] = {{3, 3}, {1, 3}, {5, 5}, {2, 1}, {1, 1}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            for (int64_t stride = 1; stride <= 3; stride++)
                for (int64_t dilation = 1; dilation <= 3; dilation++)
                    for (int64_t pad = 0; pad <= 3; pad++) {
                        const int64_t turn = (int64_t)(n + k) + stride + dilation + pad;
                        conv c = {.images = 1 + turn % 3, .groups = 1 + turn % 5, .in = 1, .out = 1 + turn % 2};
                        c.spatial = 2, c.pad[0] = pad, c.pad[1] = turn % 2 ? pad : kernels[k][1] / 2;
                        for (int d = 0; d < 2; d++)
                            c.size[d] = sizes[n][d], c.kernel[d] = kernels[k][d], c.stride[d] = stride,
                            c.dilation[d] = dilation;
                        if (c.size[0] + 2 * c.pad[0] > (c.kernel[0] - 1) * dilation &&
                            c.size[1] + 2 * c.pad[1] > (c.kernel[1] - 1) * dilation)
                            check_conv_by(s, &c, "picks");
                    }
}

/* ---- Products -------------------------------------------------------------------------------------------------- */

/* Scales of columns by which a sum of each lies next to the middle between two whole numbers. `in` are the inputs of a
 * QLinearMatMul. */
static void set_scales_near(scope *s, const int *in, int64_t m, int64_t k, int64_t n) {
    const scope_value *v = s->graph.values;
    const scope_value *scales = &v[in[4]], *zeros = &v[in[5]];
    const bool has_zeros = zeros->rank;
    for (int64_t j = 0; j < (scales->rank ? n : 1); j++) {
        const int64_t row = scope_draw(s, (int)m);
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += (v[in[0]].numbers[row * k + i] - v[in[2]].numbers[0]) *
                   (v[in[3]].numbers[i * n + j] - zeros->numbers[has_zeros ? j : 0]);
        const double middle = scope_draw(s, 256) - 127.5, factor = v[in[1]].numbers[0] / v[in[6]].numbers[0];
        scales->numbers[j] = scope_round(OX_FLOAT, sum == 0 ? 1 : middle / sum / factor);
    }
}

/* Scales and zero points are one, or one for each row of A, or column of B. */
static int add_product(scope *s, int64_t m, int64_t k, int64_t n) {
    const ox_dtype left = any_type(s), right = any_type(s);
    const int kind = any_kind(s), a = give_bytes(s, left, 2, (const int64_t[]){m, k}, any_direct(s)),
              b = give_bytes(s, right, 2, (const int64_t[]){k, n}, any_weight(s));
    const bool by_row = scope_draw(s, 4) == 0, by_column = scope_draw(s, 2);
    const int in[] = {a,
                      give_scales(s, scope_draw(s, 4) ? USUAL : kind, by_row ? m : 1, any_weight(s)),
                      give_zeros(s, left, by_row ? m : 1, any_weight(s)),
                      b,
                      give_scales(s, kind, by_column ? n : 1, any_weight(s)),
                      give_zeros(s, right, by_column ? n : 1, any_weight(s)),
                      give_scales(s, scope_draw(s, 4) ? POWERS : kind, 1, any_weight(s)),
                      give_zeros(s, any_type(s), 1, any_weight(s))};
    if (!by_row && scope_draw(s, 2))
        set_scales_near(s, in, m, k, n);
    return scope_node_of(s, "QLinearMatMul", 8, in);
}

static void each_product(scope *s) {
    static const int64_t ms[] = {1, 2, 5, 6, 7, 13}, ks[] = {1, 7, 8, 9, 24, 33},
                         ns[] = {1, 3, 4, 8, 15, 16, 17, 31, 37};
    for (size_t i = 0; i < 6 * 6 * 9; i++)
        for (int isa = 0; isa < s->nisa; isa++)
            if (begin(s, isa))
                end(s, add_product(s, ms[i % 6], ks[i / 6 % 6], ns[i / 36]));
}

/* ---- Networks of them -------------------------------------------------------------------------------------------- */

/* What is known of a quantized tensor: its scale, a power of two, and its zero point. */
typedef struct quantized {
    int value, scale, zero;
} quantized;

static double number_of(const scope *s, int value) {
    return s->graph.values[value].numbers[0];
}

static quantized give_quantized(scope *s, int rank, const int64_t *dims) {
    const ox_dtype dtype = any_type(s);
    return (quantized){give_bytes(s, dtype, rank, dims, any_direct(s)), give_scales(s, POWERS, 1, SCOPE_CONSTANT),
                       give_zeros(s, dtype, 1, SCOPE_CONSTANT)};
}

static int dequantize(scope *s, const quantized *q) {
    return scope_node_of(s, "DequantizeLinear", 3, (const int[]){q->value, q->scale, q->zero});
}

static int along(scope *s, int out, int axis, bool is_by_channel) {
    if (is_by_channel)
        scope_int(s, "axis", axis);
    return out;
}

/* By turns nothing, Relu and Clip, which join what rounds, or change what that would be. */
static int limit(scope *s, int value) {
    const int kind = scope_draw(s, 3);
    if (kind == 0)
        return value;
    if (kind == 1)
        return scope_node_of(s, "Relu", 1, &value);
    const int in[] = {value, scope_give_number(s, OX_FLOAT, scope_draw(s, 4) - 2),
                      scope_give_number(s, OX_FLOAT, 1 + scope_draw(s, 6))};
    return scope_node_of(s, "Clip", 3, in);
}

static quantized quantize(scope *s, int value) {
    const ox_dtype dtype = any_type(s);
    const quantized q = {0, give_scales(s, POWERS, 1, SCOPE_CONSTANT), give_zeros(s, dtype, 1, SCOPE_CONSTANT)};
    return (quantized){scope_node_of(s, "QuantizeLinear", 3, (const int[]){value, q.scale, q.zero}), q.scale, q.zero};
}

/* A convolution of floats between both, whose weights and bias are quantized by channel or as a whole. */
static quantized add_layer(scope *s, const conv *c, const quantized *x) {
    int64_t dims[4], w[4];
    image_dims(c, dims, w);
    const int64_t channels = w[0], count = scope_draw(s, 2) ? channels : 1;
    const bool by_channel = count > 1;
    const int weights = give_bytes(s, OX_INT8, 2 + c->spatial, w, SCOPE_CONSTANT),
              scales = give_scales(s, POWERS, count, SCOPE_CONSTANT),
              zeros = scope_give(s, OX_INT8, by_channel, &count, SCOPE_CONSTANT),
              bias = give_bias(s, channels, SCOPE_CONSTANT),
              products = scope_give(s, OX_FLOAT, by_channel, &count, SCOPE_CONSTANT);
    for (int64_t i = 0; i < count; i++) {
        s->graph.values[zeros].numbers[i] = 0;
        s->graph.values[products].numbers[i] = s->graph.values[scales].numbers[i] * number_of(s, x->scale);
    }
    int in[3] = {dequantize(s, x)};
    in[1] = along(s, scope_node_of(s, "DequantizeLinear", 3, (const int[]){weights, scales, zeros}), 0, by_channel);
    in[2] = along(s, scope_node_of(s, "DequantizeLinear", 2, (const int[]){bias, products}), 0, by_channel);
    any_way(s);
    const int out = scope_node_of(s, "Conv", 3, in);
    set_windows(s, c);
    return quantize(s, limit(s, out));
}

/* x and what two layers make of it: an inverted residual, whose sum may be limited. */
static int add_residual(scope *s, int64_t channels, int64_t high, int64_t wide) {
    const int64_t dims[] = {1 + scope_draw(s, 2), channels, high, wide};
    conv widening = {dims[0], 1, channels, 2 * channels, 2, {high, wide}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
         depth = {dims[0], 2 * channels, 1, 1, 2, {high, wide}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
         narrowing = {dims[0], 1, 2 * channels, channels, 2, {high, wide}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
    const quantized x = give_quantized(s, 4, dims), a = add_layer(s, &widening, &x), b = add_layer(s, &depth, &a),
                    y = add_layer(s, &narrowing, &b);
    const int sum = scope_node_of(s, "Add", 2, (const int[]){dequantize(s, &x), dequantize(s, &y)});
    return quantize(s, limit(s, sum)).value;
}

static void each_network(scope *s) {
    for (int64_t channels = 1; channels <= 8; channels++)
        for (int64_t wide = 1; wide <= 18; wide++)
            for (int isa = 0; isa < s->nisa; isa++)
                if (begin(s, isa))
                    end(s, add_residual(s, channels, 1 + (channels + wide) % 5, wide));
}

/* ---- Transposed convolutions ------------------------------------------------------------------------------------- */

/* Scales of the bias are those of the sums of each group. */
static int transposed_bias(scope *s, const conv *c, int x_scale, int w_scales, int64_t count) {
    const int64_t channels = c->groups * c->out;
    const bool by_channel = count > 1;
    const int64_t entries = by_channel ? channels : 1;
    const int bias = give_bias(s, channels, SCOPE_CONSTANT),
              products = scope_give(s, OX_FLOAT, by_channel, &entries, SCOPE_CONSTANT);
    for (int64_t i = 0; i < entries; i++)
        s->graph.values[products].numbers[i] = s->graph.values[w_scales].numbers[i % count] * number_of(s, x_scale);
    return along(s, scope_node_of(s, "DequantizeLinear", 2, (const int[]){bias, products}), 0, by_channel);
}

/* ConvTranspose of floats between quantizations; `more` is its output_padding. */
static int add_transposed(scope *s, const conv *c, int64_t more) {
    int64_t dims[4], w[4];
    image_dims(c, dims, w);
    w[0] = dims[1], w[1] = c->out;
    const int64_t count = scope_draw(s, 2) ? c->out : 1, paddings[] = {more, more};
    const quantized x = give_quantized(s, 2 + c->spatial, dims);
    const ox_dtype dtype = any_type(s);
    const int weights = give_bytes(s, dtype, 2 + c->spatial, w, SCOPE_CONSTANT),
              scales = give_scales(s, POWERS, count, SCOPE_CONSTANT),
              zeros = give_zeros(s, dtype, count, SCOPE_CONSTANT);
    int in[3] = {dequantize(s, &x)};
    in[1] = along(s, scope_node_of(s, "DequantizeLinear", 3, (const int[]){weights, scales, zeros}), 1, count > 1);
    in[2] = transposed_bias(s, c, x.scale, scales, count);
    const int out = scope_node_of(s, "ConvTranspose", 2 + scope_draw(s, 2), in);
    set_windows(s, c);
    if (more)
        scope_ints(s, "output_padding", c->spatial, paddings);
    return quantize(s, limit(s, out)).value;
}

/* Rows about vectors, and kernels beside each other, over each other and apart. */
static void each_transposed(scope *s) {
    static const conv shapes[] = {
        {1, 1, 3, 5, 2, {4, 1}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
        {2, 2, 5, 3, 2, {3, 1}, {2, 3}, {2, 3}, {1, 0}, {1, 1}},
        {1, 1, 8, 4, 2, {2, 1}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
        {2, 1, 33, 2, 2, {3, 1}, {4, 4}, {2, 2}, {1, 1}, {1, 1}},
        {1, 2, 2, 3, 2, {2, 1}, {3, 2}, {1, 1}, {0, 1}, {2, 1}},
        {1, 4, 1, 2, 2, {3, 1}, {4, 3}, {2, 2}, {1, 0}, {1, 1}},
        {1, 1, 1, 7, 2, {2, 1}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
        {2, 1, 6, 2, 2, {2, 1}, {2, 2}, {3, 3}, {0, 0}, {1, 1}},
        {1, 1, 3, 4, 2, {3, 1}, {2, 2}, {2, 2}, {1, 1}, {2, 2}},
        {1, 1, 300, 6, 2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int64_t wide = 1; wide <= 35; wide += wide < 19 ? 1 : 4)
            for (int isa = 0; isa < s->nisa; isa++)
                if (begin(s, isa)) {
                    conv c = shapes[i];
                    c.size[1] = wide;
                    end(s, add_transposed(s, &c, wide % 3 == 0 && c.stride[1] > 1));
                }
}

/* Images of one element. */
static void each_latent(scope *s) {
    for (int64_t in = 2; in <= 40; in += in < 10 ? 1 : 6)
        for (int64_t kernel = 1; kernel <= 5; kernel++)
            for (int isa = 0; isa < s->nisa; isa++)
                if (begin(s, isa)) {
                    const conv c = {1 + in % 2,      1 + kernel % 2,  in,    1 + in % 7, 2, {1, 1}, {kernel, 3},
                                    {1, 1 + in % 2}, {0, kernel / 4}, {1, 1}};
                    end(s, add_transposed(s, &c, 0));
                }
}

void scope_quantized(scope *s) {
    each_pointwise(s);
    each_window(s);
    each_rows(s);
    each_placed(s);
    each_depth(s);
    each_picks(s);
    each_product(s);
    each_network(s);
    each_transposed(s);
    each_latent(s);
}
