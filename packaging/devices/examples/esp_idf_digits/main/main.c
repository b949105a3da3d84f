/* Classifies handwritten digits. */
#include "digits.h"
#include <stdio.h>

void app_main(void) {
    const char *failed = digits_begin();
    if (failed) {
        printf("%s\n", failed);
        return;
    }
    for (int at = 0; at < digits_count(); at++)
        printf("%d was taken for %d\n", digits_label(at), digits_classify(at));
    printf("%u bytes of the buffer\n", digits_bytes());
}
