/* options.c: checking what a caller's options say. */
#include "options.h"

#include "config.h"
#include "loops/builds.h"
#include "pool.h"

/* The list's own text of a build's name, NULL if there is none. Small builds have one build, whatever it is called. */
static const char *own_name(const char *isa) {
    for (int b = 0; b < OX_BUILDS_COUNT; b++)
        if (!ox_text_order(isa, ox_build_names[b]))
            return ox_build_names[b];
    return OX_SMALL ? ox_build_names[0] : NULL;
}

void ox_options_keep(ox_options *options) {
    if (options->isa)
        options->isa = own_name(options->isa);
}

#define LISTED(name, ...) " " #name

ox_status ox_options_check(const ox_options *options, ox_error *error) {
    if (!options)
        return OX_OK;
    if (options->allocator && !options->allocator->resize)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the allocator of the options has no function: resize is NULL");
    if (options->threads < 0 || options->threads > OX_MOST_THREADS)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%d threads are out of range (0 to %d, 0 is the default)",
                       options->threads, OX_MOST_THREADS);
    if (options->limits.depth < 0)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the limit of depth is %d, below 0", options->limits.depth);
    if (options->check && !OX_WITH_SELF_CHECK)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "this build of the library cannot check runs");
    if (options->isa && !own_name(options->isa))
        return ox_fail(error, OX_ERROR_ARGUMENT, "isa '%.*s' is no build of the loops:" OX_BUILDS(LISTED, ) " are", 40,
                       options->isa);
    return OX_OK;
}

const ox_allocator *ox_options_allocator(const ox_options *options) {
    const ox_allocator *given = options ? options->allocator : NULL;
    if (!given)
        return ox_default_allocator();
    return given->resize ? given : NULL;
}
