/* Classifies handwritten digits. */
#include "digits.h"
#include <zephyr/sys/printk.h>

int main(void) {
    const char *failed = digits_begin();
    if (failed) {
        printk("%s\n", failed);
        return 1;
    }
    for (int at = 0; at < digits_count(); at++)
        printk("%d was taken for %d\n", digits_label(at), digits_classify(at));
    printk("%u bytes of the buffer\n", digits_bytes());
    return 0;
}
