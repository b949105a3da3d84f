/* instructions.c: a plug-in of qemu's user mode that counts the instructions of a process, and prints their number on
 * the standard error when it ends: `qemu-aarch64 -plugin instructions.so PROGRAM`. What it needs of qemu's interface
 * for plug-ins (version 1) is declared here, for Debian packages no header of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
typedef struct tb tb; /* instructions without a branch between them, translated together */

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id id, tb *block));
extern size_t qemu_plugin_tb_n_insns(const tb *block);
extern void qemu_plugin_register_vcpu_tb_exec_inline(tb *block, int operation, void *at, uint64_t number);
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id id, void *context), void *context);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum {
    ADD = 0 /* the operation that adds a number at an address */
};

static uint64_t count;

static void on_block(plugin_id id, tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void on_end(plugin_id id, void *context) {
    (void)id, (void)context;
    fprintf(stderr, "instructions %llu\n", (unsigned long long)count);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);
__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
