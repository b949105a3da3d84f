/* broken.c: plug-ins that must be refused; BROKEN says in which way. */
#include "../../src/ox.h"

#if BROKEN != 0 /* 0: no entry point */

#if BROKEN == 1 /* a function that the command does not have */
int ox_frobnicate(void);
#endif

static const ox_operator operators[] = {
    {.domain = "com.test", .name = "X", .since = 1}, /* no function */
};

OX_API const ox_plugin *ox_plugin_entry(void) {
    static const ox_plugin plugin = {BROKEN == 2 ? OX_PLUGIN_ABI + 1 : OX_PLUGIN_ABI, "broken", operators, 1};
#if BROKEN == 1
    return ox_frobnicate() ? NULL : &plugin;
#else
    return BROKEN == 3 ? NULL : &plugin;
#endif
}

#endif
