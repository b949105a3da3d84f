/* replay.c: runs a fuzz target on files, without libFuzzer: TARGET FILE... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The targets' mutators want it; nothing is mutated here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room) {
    (void)data, (void)room;
    return size;
}

int main(int count, char **arguments) {
    int failed = 0;
    for (int i = 1; i < count; i++) {
        unsigned char *bytes;
        size_t size;
        ox_error error;
        if (ox_file_read(arguments[i], &bytes, &size, &error)) {
            fprintf(stderr, "%s\n", error.text);
            failed++;
            continue;
        }
        LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
    }
    return failed != 0;
}
