/* pool_place.c: what the windows of a pool see of an image. */
#include "pool_place.h"

ox_status ox_pool_geometry(ox_call *call, ox_window *w) {
    OX_TRY(ox_window_image(call, w));
    OX_TRY(ox_window_read(call, w));
    OX_TRY(ox_window_kernel(call, w));
    return ox_window_slide(call, w, ox_call_int(call, "ceil_mode", 0) != 0);
}

ox_status ox_pool_infer(ox_call *call, ox_dtype dtype, const int64_t *out) {
    const ox_tensor *x = call->in[0];
    int64_t dims[OX_MAX_RANK];
    for (int d = 0; d < x->rank; d++)
        dims[d] = d < 2 ? x->dims[d] : out ? out[d - 2] : 1;
    for (int k = 0; k < call->nout; k++)
        OX_TRY(ox_call_output(call, k, k ? OX_INT64 : dtype, x->rank, dims));
    return OX_OK;
}

static ox_pool_place find_place(const ox_window *w, int d, int64_t i, bool padded) {
    const ox_taps taps = ox_window_taps(w, d, i);
    const int64_t start = i * w->stride[d] - w->pad[d], ahead = w->in[d] + w->end[d] - 1 - start;
    ox_pool_place place = {start + taps.first * w->dilation[d], taps.end - taps.first, taps.end - taps.first};
    if (padded)
        place.counted = ahead < 0 ? 0 : ox_least(w->kernel[d], ox_quotient(ahead, w->dilation[d]) + 1);
    return place;
}

ox_status ox_pool_find_places(ox_call *call, const ox_window *w, bool padded, ox_pool_place **places) {
    int64_t count = 0;
    for (int d = 0; d < w->spatial; d++)
        count += w->out[d];
    ox_pool_place *place = ox_pile_array(call->pile, (size_t)count, sizeof *place);
    if (!place)
        return ox_fail_memory(call->error, "the places of windows", (size_t)count * sizeof *place);
    *places = place;
    for (int d = 0; d < w->spatial; d++)
        for (int64_t i = 0; i < w->out[d]; i++)
            *place++ = find_place(w, d, i, padded);
    return OX_OK;
}

const ox_pool_place *ox_pool_last_places(const ox_window *w, const ox_pool_place *places) {
    for (int d = 0; d < w->spatial - 1; d++)
        places += w->out[d];
    return places;
}

int64_t ox_pool_count_whole(const ox_window *w, const ox_pool_place *places) {
    int64_t counted = 1;
    for (int d = 0; d < w->spatial; d++) {
        if (w->out[d] != 1 || w->in[d] == 0 || places[d].taps != w->in[d] || (w->dilation[d] != 1 && w->in[d] != 1))
            return 0;
        counted *= places[d].counted;
    }
    return counted;
}

void ox_pool_find_rows(const ox_window *w, const ox_pool_place *places, int64_t width, const int64_t *index,
                       const char *channel, ox_pool_rows *rows) {
    int64_t stride = w->in_count * width;
    const int outer = w->spatial - 1;
    rows->plan = (ox_bcast){1, outer ? outer : 1, rows->dim, rows->step};
    rows->from = channel;
    rows->inside = 1;
    rows->counted = 1;
    rows->dim[0] = 1;
    rows->step[0] = 0;
    for (int d = 0; d < outer; places += w->out[d++]) {
        const ox_pool_place *place = &places[index[d]];
        stride = w->in[d] ? ox_quotient(stride, w->in[d]) : 0;
        rows->dim[outer - 1 - d] = place->taps;
        rows->step[outer - 1 - d] = stride * w->dilation[d];
        rows->counted *= (double)place->counted;
        rows->inside *= place->taps;
        if (place->taps)
            rows->from += place->from * stride;
    }
}

ox_pool_cut ox_pool_cut_of(const ox_window *w, int64_t channels, int64_t some) {
    const int last = w->spatial - 1;
    return (ox_pool_cut){channels, ox_count(last, w->out), ox_quotient(w->out[last] - 1, some) + 1, some};
}

void ox_pool_walk_part(void *context, int part, int parts) {
    const ox_pool_walk *walk = context;
    const ox_window *w = walk->window;
    const ox_pool_cut *cut = walk->cut;
    const int outer = w->spatial - 1;
    int64_t at, end, index[OX_WINDOW_DIMS], row = -1;
    ox_pool_stretch s;
    ox_pool_range(cut->channels * cut->rows * cut->parts, part, parts, &at, &end);
    for (; at < end; at++) {
        const int64_t next = ox_quotient(at, cut->parts);
        s.first = (at - next * cut->parts) * cut->some;
        s.channel = ox_quotient(next, cut->rows);
        if (row < 0)
            ox_index_of(outer, w->out, next - s.channel * cut->rows, index);
        else if (next != row)
            ox_index_next(outer, w->out, index);
        if (next != row)
            ox_pool_find_rows(w, walk->places, walk->width, index, walk->from + s.channel * w->in_count * walk->width,
                              &s.rows);
        row = next;
        s.count = ox_least(cut->some, w->out[outer] - s.first);
        s.result = row * w->out[outer] + s.first;
        walk->take(walk->context, &s);
    }
}
