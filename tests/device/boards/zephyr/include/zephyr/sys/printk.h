/* printk.h: in place of Zephyr's. */
void printk(const char *format, ...);
