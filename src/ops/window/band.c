/* band.c: laying out bands of an image for direct loops. */
#include "band.h"
#include "loops/lanes.h"
#include "ops/dense.h"

#include <limits.h>

enum {
    CACHED = 24 << 10,   /* bytes of the first-level cache for a band of several rows */
    LARGEST = 256 << 10, /* bytes of a band */
    ACROSS = 512,        /* columns of a band */
    LINE = 64            /* bytes of a cache line, where rows begin: fewer loads reach over two lines */
};

/* The last two dimensions, of images of one, too. */
typedef struct plane {
    int64_t high, wide; /* of the result */
    int64_t kernel[2], stride[2], dilation[2];
} plane;

static plane plane_of(const ox_window *w) {
    const int last = w->spatial - 1;
    plane p = {1, w->out[last], {1, w->kernel[last]}, {1, w->stride[last]}, {1, w->dilation[last]}};
    if (last > 0) {
        p.high = w->out[last - 1];
        p.kernel[0] = w->kernel[last - 1], p.stride[0] = w->stride[last - 1], p.dilation[0] = w->dilation[last - 1];
    }
    return p;
}

/* Elements of a laid out band of so many rows of windows; false if they are too many. */
static bool measure(ox_band *b, const plane *p, int64_t rows) {
    int64_t reach, size;
    const int64_t most = ox_quotient(LARGEST, b->width);
    if (!ox_mul_i64(p->kernel[0] - 1, p->dilation[0], &reach) || !ox_mul_i64(rows - 1, p->stride[0], &size) ||
        !ox_add_i64(reach + 1, size, &reach) || reach > most || !ox_mul_i64(reach, b->pitch, &size) || size > most ||
        !ox_mul_i64(size, b->outer, &size) || size > most)
        return false;
    b->rows = rows;
    b->reach = reach;
    b->bytes = (size_t)(size * b->width) + OX_DIRECT_MARGIN;
    return true;
}

/* Rows of bands of about one size, at most `most`, in which loops leave few over. */
static int64_t even(int64_t rows, int64_t most) {
    const int64_t bands = ox_quotient(rows - 1, most) + 1, each = ox_quotient(rows - 1, bands) + 1;
    return ox_least(most, (int64_t)ox_round_up((size_t)each, OX_DIRECT_ROWS));
}

/* Rows of a band: as many as fit, but some that a loop takes at a time. */
static bool choose_size(ox_band *b, const plane *p) {
    const int64_t most = ox_quotient(LARGEST, b->width);
    int64_t wide;
    b->high = p->high, b->wide = p->wide;
    b->columns = ox_least(p->wide, ACROSS);
    if (p->stride[1] > OX_BAND_STRIDE || p->stride[0] > most || !ox_mul_i64(p->kernel[1] - 1, p->dilation[1], &wide) ||
        wide > most)
        return false;
    b->phase = (int64_t)ox_round_up((size_t)(b->columns + ox_quotient(wide, p->stride[1])), LINE / (size_t)b->width);
    if (!ox_mul_i64(b->phase, p->stride[1], &b->pitch) || b->pitch > most || !measure(b, p, 1))
        return false;
    int64_t rows = 1;
    while (rows < p->high && measure(b, p, rows + 1) && (b->bytes <= CACHED || rows < OX_DIRECT_ROWS))
        rows++;
    return measure(b, p, even(p->high, rows));
}

/* Room for the rows that a loop reads behind the band; false if they are too large. */
static bool find_room(ox_band *b, const plane *p) {
    int64_t spare;
    if (!ox_mul_i64((OX_DIRECT_ROWS - 1) * b->pitch, p->stride[0], &spare) || spare > ox_quotient(LARGEST, b->width))
        return false;
    b->room = ox_aligned(b->bytes + (size_t)(spare * b->width));
    return true;
}

static void find_offsets(const ox_band *b, const plane *p) {
    int64_t *offset = b->offsets;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t i = 0; i < p->kernel[0]; i++)
            for (int64_t j = 0; j < p->kernel[1]; j++) {
                const int64_t at = j * p->dilation[1];
                *offset++ = (o * b->reach + i * p->dilation[0]) * b->pitch + ox_remainder(at, p->stride[1]) * b->phase +
                            ox_quotient(at, p->stride[1]);
            }
}

/* The sizes of a band; false if they are too large. */
static bool find_sizes(const ox_window *w, size_t width, ox_band *b) {
    const plane p = plane_of(w);
    const int outer = w->spatial > 2 ? w->spatial - 2 : 0;
    *b = (ox_band){.window = w, .width = (int64_t)width, .outer = ox_count(outer, w->kernel)};
    return w->out_count > 0 && w->in_count > 0 && w->taps <= ox_quotient(LARGEST, b->width) && choose_size(b, &p) &&
           find_room(b, &p);
}

bool ox_band_fits(const ox_window *w, size_t width) {
    ox_band band;
    return find_sizes(w, width, &band);
}

ox_status ox_band_plan(ox_call *call, const ox_window *w, size_t width, ox_band *b) {
    const plane p = plane_of(w);
    find_sizes(w, width, b);
    b->gather = OX_BUILD_OF(call->loops, ox_gather_builds)(width);
    b->fill = call->loops->move(width);
    b->down = ox_quotient(b->high - 1, b->rows) + 1;
    b->across = ox_quotient(b->wide - 1, b->columns) + 1;
    b->count = ox_count(w->spatial > 2 ? w->spatial - 2 : 0, w->out) * b->down * b->across;
    b->offsets = ox_pile_array(call->pile, (size_t)w->taps, sizeof *b->offsets);
    if (!b->offsets)
        return ox_fail_memory(call->error, "the places of taps", (size_t)w->taps * sizeof *b->offsets);
    find_offsets(b, &p);
    return OX_OK;
}

void ox_band_join(ox_band *b) {
    b->reach += (b->high - b->rows) * b->window->stride[0];
    b->rows = b->high;
    b->down = 1;
    b->count = b->across;
}

int64_t ox_band_share(const ox_band *band, int64_t number, int64_t first, int64_t behind, int64_t *end) {
    *end = ox_quotient(behind + band->count - 1 - number, band->count);
    return ox_quotient(first + band->count - 1 - number, band->count);
}

/* Of the places start, start + step, ... (`count` of them): the number of the first that is at least 0, and in *inside
 * how many from there on are below `size`. */
static int64_t find_inside(int64_t start, int64_t step, int64_t count, int64_t size, int64_t *inside) {
    const int64_t first = start < 0 ? ox_least(count, ox_quotient(step - 1 - start, step)) : 0;
    const int64_t end = start < size ? ox_least(count, ox_quotient(size - 1 - start, step) + 1) : 0;
    *inside = end > first ? end - first : 0;
    return first;
}

/* The columns of a row, those that are a stride apart together: a run for each phase. */
static void find_columns(const ox_band *b, ox_band_place *place) {
    const ox_window *w = b->window;
    const int last = w->spatial - 1;
    const int64_t stride = w->stride[last], start = place->index[last] * stride - w->pad[last];
    const int64_t seen = place->columns + ox_quotient((w->kernel[last] - 1) * w->dilation[last], stride);
    place->runs = 0;
    for (int64_t phase = 0; phase < stride; phase++) {
        int64_t inside;
        const int64_t first = find_inside(start + phase, stride, seen, w->in[last], &inside);
        if (inside)
            place->run[place->runs++] = (ox_run){phase * b->phase + first, inside, start + phase + first * stride};
    }
}

static void find_place(const ox_band *b, int64_t number, ox_band_place *place) {
    const ox_window *w = b->window;
    const int last = w->spatial - 1, outer = last > 0 ? last - 1 : 0;
    const int64_t across = ox_remainder(number, b->across), next = ox_quotient(number, b->across);
    const int64_t column = across * b->columns, row = ox_remainder(next, b->down) * b->rows;
    const int64_t slice = ox_quotient(next, b->down);
    ox_index_of(outer, w->out, slice, place->index);
    if (last > 0)
        place->index[last - 1] = row;
    place->index[last] = column;
    place->rows = ox_least(b->rows, b->high - row);
    place->columns = ox_least(b->columns, b->wide - column);
    place->start = (slice * b->high + row) * b->wide + column;
    find_columns(b, place);
    place->row = place->first = 0, place->inside = 1;
    if (last > 0) {
        const int64_t above = row * w->stride[last - 1] - w->pad[last - 1];
        place->first = find_inside(above, 1, b->reach, w->in[last - 1], &place->inside);
        place->row = above + place->first;
    }
}

/* Whether what is laid out in two places has its padding in the same elements. */
static bool are_alike(const ox_band *band, const ox_band_place *a, const ox_band_place *b) {
    bool alike = a->first == b->first && a->inside == b->inside && a->runs == b->runs;
    for (int d = 0; alike && d < band->window->spatial - 2; d++)
        alike = a->index[d] == b->index[d];
    for (int64_t i = 0; alike && i < a->runs; i++)
        alike = a->run[i].to == b->run[i].to && a->run[i].count == b->run[i].count;
    return alike;
}

void ox_band_enter(const ox_band *b, int64_t number, const void *value, int64_t rooms, void *room, int64_t next,
                   ox_band_place *place) {
    const ox_band_place before = *place;
    find_place(b, number, place);
    if (before.rows && are_alike(b, &before, place))
        return;
    for (int64_t i = 0; i < rooms; i++)
        b->fill(ox_quotient((int64_t)b->bytes, b->width), (char *)room + i * next * b->width, b->width, value, 0);
}

void ox_band_lay(const ox_band *b, const ox_band_place *place, int64_t count, const void *channel, void *room,
                 int64_t next) {
    const ox_window *w = b->window;
    const int last = w->spatial - 1, outer = last > 0 ? last - 1 : 0;
    const int64_t high = last > 0 ? w->in[last - 1] : 1, width = b->width;
    char *layer = room;
    int64_t tap[OX_WINDOW_DIMS];
    if (outer)
        ox_index_of(outer, w->kernel, 0, tap);
    for (int64_t o = 0; o < b->outer; o++, layer += b->reach * b->pitch * width) {
        int64_t at = 0;
        bool seen = place->inside > 0 && place->runs > 0;
        for (int d = 0; d < outer && seen; d++) {
            const int64_t i = place->index[d] * w->stride[d] - w->pad[d] + tap[d] * w->dilation[d];
            seen = i >= 0 && i < w->in[d];
            at = at * w->in[d] + i;
        }
        char *to = layer + place->first * b->pitch * width;
        const char *from = (const char *)channel + (at * high + place->row) * w->in[last] * width;
        for (int64_t i = 0; i < count && seen; i++, to += next * width, from += w->in_count * width)
            b->gather(place->inside, to, b->pitch * width, from, w->in[last] * width, w->stride[last], place->runs,
                      place->run, 0);
        if (outer)
            ox_index_next(outer, w->kernel, tap);
    }
}

/* True if the rows of the kernel see neighbouring rows of the image, and are as many and as far from window to window
 * as a loop is made for. */
static bool is_tall(const ox_window *w) {
    const int64_t high = w->kernel[0], step = w->stride[0];
    return w->spatial == 2 && w->dilation[0] == 1 &&
           (high == 5 ? step == 1 || step == 2 : step == 1 && (high == 3 || high == 7));
}

ox_direct_tile ox_band_tile(const ox_band *b, const ox_band_place *place, const void *room) {
    const ox_window *w = b->window;
    const int last = w->spatial - 1;
    return (ox_direct_tile){.taps = w->taps,
                            .high = is_tall(w) ? w->kernel[0] : 0,
                            .step = w->stride[0],
                            .offsets = b->offsets,
                            .layers = 1,
                            .rows = place->rows,
                            .columns = place->columns,
                            .from = room,
                            .from_row = (last > 0 ? w->stride[last - 1] : 1) * b->pitch};
}

void ox_band_in_place(const ox_band *b, const ox_band_place *place, ox_direct_tile *tile) {
    const ox_window *w = b->window;
    tile->outside = tile->from;
    tile->from_row = w->in[1];
    tile->above = place->first;
    tile->inside = place->inside;
    tile->start = place->index[1] * w->stride[1] - w->pad[1];
    tile->wide = w->in[1];
}
