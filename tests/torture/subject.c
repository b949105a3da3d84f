/* subject.c: see subject.h. */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    unsigned char *bytes = NULL;
    long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (end >= 0 && !fseek(file, 0, SEEK_SET)) {
        *size = (size_t)end;
        bytes = malloc(*size + 1);
        if (bytes && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

/* What the model states of an input: files do not tell whether they hold a tensor. */
static ox_kind kind_of(const ox_model *model, size_t index) {
    ox_value_info info;
    const bool stated = model && ox_model_input(model, index, &info) == OX_OK && info.kind != OX_KIND_UNKNOWN;
    return stated ? info.kind : OX_KIND_TENSOR;
}

static void read_inputs(subject *s, const char *folder) {
    char path[512];
    ox_model *model;
    if (ox_model_load_memory_for_info(s->bytes, s->size, NULL, &model, NULL))
        model = NULL;
    for (int i = 0; i < SUBJECT_INPUTS; i++) {
        size_t size;
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%d.pb", folder, i);
        unsigned char *bytes = read_file(path, &size);
        if (!bytes)
            break;
        if (ox_value_from_proto(kind_of(model, (size_t)i), bytes, size, NULL, &s->inputs[i], NULL, NULL))
            s->inputs[i] = NULL;
        free(bytes);
    }
    ox_model_free(model);
}

bool subject_read(subject *s, const char *path) {
    char model[512];
    *s = (subject){0};
    size_t length = strlen(path);
    while (length && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start && path[start - 1] != '/')
        start--;
    snprintf(s->name, sizeof s->name, "%.*s", (int)(length - start), path + start);
    snprintf(model, sizeof model, "%s/model.onnx", path);
    s->bytes = read_file(model, &s->size);
    if (s->bytes)
        read_inputs(s, path);
    else
        s->bytes = read_file(path, &s->size);
    if (!s->bytes)
        printf("%s: cannot be read\n", path);
    return s->bytes != NULL;
}

void subject_free(subject *s) {
    free(s->bytes);
    for (int i = 0; i < SUBJECT_INPUTS; i++)
        ox_value_free(s->inputs[i]);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* FNV-1a of the name: other models in the list change nothing. */
static uint64_t seed_of(const subject *s, unsigned number) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *c = s->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    return hash + ((uint64_t)number << 32);
}

unsigned char *subject_damage(const subject *s, unsigned number, unsigned flips, size_t *size) {
    uint64_t state = seed_of(s, number);
    *size = number < flips || !s->size ? s->size : (size_t)(draw(&state) % s->size);
    unsigned char *bytes = malloc(*size);
    if (!bytes || !*size)
        return bytes;
    memcpy(bytes, s->bytes, *size);
    unsigned changes = number == 0 || number >= flips ? 0 : number % 2 ? 1 : 1 + (unsigned)(draw(&state) % 8);
    for (unsigned i = 0; i < changes; i++) {
        size_t at = (size_t)(draw(&state) % *size);
        bytes[at] ^= (unsigned char)(1 + draw(&state) % 255);
    }
    return bytes;
}
