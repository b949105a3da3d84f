/* plugin.c: the operators of the domain onednn.graph as a plug-in. ox has them built in; this is how they would come
 * from outside: src/ops/shape/onednn.c, which knows ox.h only, and this list.
 *
 *     make build/onednn.so && build/ox run --plugin build/onednn.so MODEL ...
 */
#include "ox.h"

ox_call_fn ox_infer_static_unsqueeze, ox_infer_static_expand;

/* Both are views: without a run function, for inputs of any strides. */
#define VIEW(op_name, op_infer)                                                                                        \
    {                                                                                                                  \
        .domain = "onednn.graph", .name = op_name, .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,     \
        .max_outputs = 1, .flags = OX_OP_STRIDED, .infer = op_infer                                                    \
    }

static const ox_operator operators[] = {
    VIEW("StaticExpand", ox_infer_static_expand),
    VIEW("StaticUnsqueeze", ox_infer_static_unsqueeze),
};

const ox_plugin *ox_plugin_entry(void) {
    static const ox_plugin plugin = {OX_PLUGIN_ABI, "onednn.graph", operators, sizeof operators / sizeof *operators};
    return &plugin;
}
