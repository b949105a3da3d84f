/* options.c: checking what a caller's options say. */
#include "options.h"

#include "config.h"
#include "pool.h"
#include "loops/builds.h"

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

/* True if no word that later versions may give a meaning to is set. A device's library is that of its program. */
static bool is_of_this_version(const ox_options *options) {
    size_t set = 0;
    for (size_t i = 0; !OX_SMALL && i < sizeof options->reserved / sizeof *options->reserved; i++)
        set |= options->reserved[i];
    for (size_t i = 0; !OX_SMALL && i < sizeof options->limits.reserved / sizeof *options->limits.reserved; i++)
        set |= options->limits.reserved[i];
    for (size_t i = 0; !OX_SMALL && i < sizeof options->reserved_flags / sizeof *options->reserved_flags; i++)
        set |= options->reserved_flags[i];
    return !set;
}

#define LISTED(name, ...) " " #name

ox_status ox_options_check(const ox_options *options, ox_error *error) {
    if (!options)
        return OX_OK;
    if (!is_of_this_version(options))
        return ox_fail(
            error, OX_ERROR_ARGUMENT,
            "reserved words of the options are not 0: the struct was not zeroed, or the program needs a later "
            "version than %s",
            ox_version());
    if (options->allocator && !options->allocator->resize)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the allocator of the options has no function: resize is NULL");
    if (options->threads < 0 || options->threads > OX_MOST_THREADS)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%d threads are out of range (0 to %d, 0 is the default)",
                       options->threads, OX_MOST_THREADS);
    if (options->limits.depth < 0)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the limit of depth is %d, below 0", options->limits.depth);
    if (options->check && !OX_WITH_SELF_CHECK)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "this build of the library cannot check runs");
    if (options->float16_sums && !OX_WITH_WIDENING)
        return ox_fail(error, OX_ERROR_UNSUPPORTED,
                       "this build of the library rounds floats of 16 bits after each node");
    if (options->isa && !own_name(options->isa))
        return ox_fail(error, OX_ERROR_ARGUMENT,
                       "isa '%.*s' is not a build of the loops:" OX_BUILDS(LISTED, ) OX_SHARING(LISTED, ) " are", 40,
                       options->isa);
    return OX_OK;
}

const ox_allocator *ox_options_allocator(const ox_options *options) {
    const ox_allocator *given = options ? options->allocator : NULL;
    if (!given)
        return ox_default_allocator();
    return given->resize ? given : NULL;
}
