/* plugin.c: RegexFullMatch, by RE2. Patterns are compiled by infer, which refuses wrong ones, and in each run: a plan
 * keeps bytes alone. */
#include "regex.h"

enum {
    REGEX_TEXT = 128 /* bytes of what RE2 says */
};

ox_status ox_regex_compile(ox_call *call, const char *attribute, ox_string pattern, bool longest, ox_regex **regex) {
    char why[REGEX_TEXT];
    *regex = ox_regex_create(pattern, longest, why, sizeof why);
    if (*regex)
        return OX_OK;
    if (!why[0])
        return ox_call_fail(call, OX_ERROR_MEMORY, "no memory for the pattern");
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is no pattern of RE2: %s", attribute, why);
}

static ox_status compile(ox_call *call, ox_regex **regex) {
    return ox_regex_compile(call, "pattern", ox_call_string(call, "pattern", ""), false, regex);
}

static ox_status infer(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    ox_regex *regex;
    ox_status status = ox_call_check_dtype(call, 0, 1u << OX_STRING);
    if (!status)
        status = compile(call, &regex);
    if (status)
        return status;
    ox_regex_free(regex);
    return ox_call_output(call, 0, OX_BOOL, x->rank, x->dims);
}

static ox_status run(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    const ox_string *texts = x->data;
    unsigned char *to = ox_call_result(call, 0)->data;
    ox_regex *regex;
    int64_t count = 1;
    int matches = 0;
    ox_status status = compile(call, &regex);
    if (status)
        return status;
    for (int d = 0; d < x->rank; d++)
        count *= x->dims[d];
    for (int64_t i = 0; i < count && matches >= 0; i++) {
        matches = ox_regex_matches(regex, texts[i]);
        to[i] = matches > 0;
    }
    ox_regex_free(regex);
    return matches < 0 ? ox_call_fail(call, OX_ERROR_MEMORY, "no memory to match") : OX_OK;
}

static const ox_operator operators[] = {
    {.domain = "",
     .name = "RegexFullMatch",
     .since = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .dtypes = 1u << OX_STRING,
     .infer = infer,
     .run = run},
    {.domain = "com.microsoft",
     .name = "Tokenizer",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .dtypes = 1u << OX_STRING,
     .infer = ox_regex_infer_tokens,
     .run = ox_regex_run_tokens},
};

const ox_plugin *ox_plugin_entry(void) {
    static const ox_plugin plugin = {OX_PLUGIN_ABI, "regex", operators, sizeof operators / sizeof *operators};
    return &plugin;
}
