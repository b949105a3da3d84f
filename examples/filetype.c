/* filetype: names the type of any file with the model of the Python package magika (`make models` fetches it).
 *
 *     filetype [-m DIR] FILE...
 *
 * Prints label, score and path of each file. DIR is the package's folder, with models/ and config/ in it. What goes
 * into the model and what is made of its answer follows that package's high-confidence mode: a file that is too small
 * is text or unknown by its bytes alone, and so is one of which the model is not sure.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "ox.h"

#define MODEL "/models/standard_v3_3/model.onnx"
#define CONFIG "/models/standard_v3_3/config.min.json"
#define TYPES "/config/content_types_kb.min.json"

enum {
    PATH_SIZE = 4096
};

typedef struct magika {
    int beg_size, end_size, block_size, min_size, padding;
    double threshold;
    json_t *config, *labels, *thresholds, *overwrite, *types;
    unsigned char *block; /* block_size bytes */
    int32_t *features;    /* beg_size + end_size of them */
    ox_model *model;
    ox_session *session;
} magika;

typedef struct answer {
    const char *label;
    double score;
} answer;

/* Joins the folder and the name of a file in it. */
static void join(char path[PATH_SIZE], const char *folder, const char *name) {
    snprintf(path, PATH_SIZE, "%s%s", folder, name);
}

/* Parses a JSON file; NULL, and a text in error, if that fails. */
static json_t *read_json(const char *folder, const char *name, ox_error *error) {
    char path[PATH_SIZE];
    json_error_t why;
    join(path, folder, name);
    json_t *json = json_load_file(path, 0, &why);
    if (!json)
        snprintf(error->text, sizeof error->text, "%.200s (\"make models\" fetches the model)", why.text);
    return json;
}

/* Reads the settings that the model was trained with; false, and a text in error, if that fails. */
static bool read_config(magika *m, const char *folder, ox_error *error) {
    int mid_size;
    json_error_t why;
    if (!(m->config = read_json(folder, CONFIG, error)) || !(m->types = read_json(folder, TYPES, error)))
        return false;
    if (json_unpack_ex(m->config, &why, 0, "{si si si si si si sF so so so}", "beg_size", &m->beg_size, "mid_size",
                       &mid_size, "end_size", &m->end_size, "block_size", &m->block_size, "padding_token", &m->padding,
                       "min_file_size_for_dl", &m->min_size, "medium_confidence_threshold", &m->threshold,
                       "target_labels_space", &m->labels, "thresholds", &m->thresholds, "overwrite_map",
                       &m->overwrite)) {
        snprintf(error->text, sizeof error->text, "config.min.json: %.200s", why.text);
        return false;
    }
    const int most = 1 << 20;
    if (mid_size != 0 || m->min_size < 1 || m->min_size > m->beg_size || m->beg_size >= m->block_size ||
        m->end_size < 0 || m->end_size >= m->block_size || m->block_size > most) {
        snprintf(error->text, sizeof error->text, "config.min.json: sizes that this program does not know");
        return false;
    }
    m->block = malloc((size_t)m->block_size);
    m->features = calloc((size_t)(m->beg_size + m->end_size), sizeof *m->features);
    return m->block && m->features;
}

/* Loads settings and model; false, and a text in error, if that fails. */
static bool magika_open(magika *m, const char *folder, ox_error *error) {
    if (!read_config(m, folder, error))
        return false;
    char path[PATH_SIZE];
    join(path, folder, MODEL);
    return !ox_model_load_file(path, NULL, &m->model, error) && !ox_session_create(m->model, NULL, &m->session, error);
}

static void magika_close(magika *m) {
    ox_session_free(m->session);
    ox_model_free(m->model);
    json_decref(m->config);
    json_decref(m->types);
    free(m->block);
    free(m->features);
}

static bool is_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The number of bytes that follow the first byte of a UTF-8 sequence, -1 if it cannot be one. */
static int utf8_tail(unsigned c) {
    return c < 0x80 ? 0 : c < 0xC2 ? -1 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : -1;
}

/* True if the bytes are UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
static bool is_utf8(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size;) {
        const unsigned c = p[i++];
        const int tail = utf8_tail(c);
        if (tail < 0 || (size_t)tail > size - i)
            return false;
        const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
        const unsigned high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
        for (int k = 0; k < tail; k++, i++)
            if (p[i] < (k ? 0x80 : low) || p[i] > (k ? 0xBF : high))
                return false;
    }
    return true;
}

/* Reads `count` bytes from `offset` on into m->block. */
static bool read_block(magika *m, FILE *file, long offset, long count) {
    return fseek(file, offset, SEEK_SET) == 0 && fread(m->block, 1, (size_t)count, file) == (size_t)count;
}

/* The model's input: the file's first bytes without leading blanks, then its last ones without trailing blanks, each
 * filled up with the padding token on the far side. False if the file cannot be read. */
static bool extract(magika *m, FILE *file, long size) {
    const long count = size < m->block_size ? size : m->block_size;
    if (!read_block(m, file, 0, count))
        return false;
    long from = 0;
    while (from < count && is_space(m->block[from]))
        from++;
    for (long i = 0; i < m->beg_size; i++)
        m->features[i] = from + i < count ? m->block[from + i] : m->padding;
    if (!read_block(m, file, size - count, count))
        return false;
    long to = count;
    while (to > 0 && is_space(m->block[to - 1]))
        to--;
    int32_t *end = m->features + m->beg_size;
    for (long i = 0; i < m->end_size; i++)
        end[m->end_size - 1 - i] = i < to ? m->block[to - 1 - i] : m->padding;
    return true;
}

/* The label for a score: the model's own, or only text or unknown where the score is below the label's threshold. */
static const char *decide(const magika *m, const char *label, double score) {
    const json_t *own = json_object_get(m->thresholds, label);
    const char *other = json_string_value(json_object_get(m->overwrite, label));
    const char *shown = other ? other : label;
    if (score >= (own ? json_number_value(own) : m->threshold))
        return shown;
    return json_is_true(json_object_get(json_object_get(m->types, shown), "is_text")) ? "txt" : "unknown";
}

/* Runs the model on the features that were extracted; false, and a text in error, if that fails. */
static bool classify(magika *m, answer *result, ox_error *error) {
    const int64_t dims[] = {1, m->beg_size + m->end_size};
    const ox_tensor bytes = {.dtype = OX_INT32, .rank = 2, .dims = dims, .data = m->features};
    ox_tensor out;
    if (ox_session_set_input(m->session, 0, &bytes, error) || ox_session_run(m->session, error) ||
        ox_session_output(m->session, 0, &out, error))
        return false;
    const int64_t count = ox_tensor_count(&out);
    if (out.dtype != OX_FLOAT || count < 1 || (size_t)count != json_array_size(m->labels)) {
        snprintf(error->text, sizeof error->text, "the model gives %lld scores for %zu labels", (long long)count,
                 json_array_size(m->labels));
        return false;
    }
    const float *scores = out.data;
    size_t best = 0;
    for (size_t i = 1; i < (size_t)count; i++)
        if (scores[i] > scores[best])
            best = i;
    const char *label = json_string_value(json_array_get(m->labels, best));
    result->score = (double)scores[best];
    result->label = decide(m, label ? label : "", result->score);
    return true;
}

/* Names the type of an open file; false, and a text in error, if that fails. */
static bool identify_file(magika *m, FILE *file, answer *result, ox_error *error) {
    const long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size == 0) {
        result->label = "empty";
        return true;
    }
    const long head = size < m->block_size ? size : m->block_size;
    const bool readable = size > 0 && extract(m, file, size);
    if (readable && size >= m->min_size && m->features[m->min_size - 1] != m->padding)
        return classify(m, result, error);
    if (!readable || !read_block(m, file, 0, head)) {
        snprintf(error->text, sizeof error->text, "cannot be read");
        return false;
    }
    result->label = is_utf8(m->block, (size_t)head) ? "txt" : "unknown";
    return true;
}

/* Names the type of what is at a path; false, and a text in error, if that fails. */
static bool identify(magika *m, const char *path, answer *result, ox_error *error) {
    struct stat status;
    *result = (answer){"unknown", 1};
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        result->label = S_ISDIR(status.st_mode) ? "directory" : "unknown";
        return true;
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(error->text, sizeof error->text, "%s", strerror(errno));
        return false;
    }
    const bool done = identify_file(m, file, result, error);
    fclose(file);
    return done;
}

int main(int argc, char **argv) {
    const char *folder = MAGIKA_DIR;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-m") == 0) {
        folder = argv[2];
        first = 3;
    }
    if (first >= argc || argv[first][0] == '-') {
        fprintf(stderr, "usage: filetype [-m DIR] FILE...\n");
        return 2;
    }
    magika m = {0};
    ox_error error = {.text = "out of memory"};
    int failed = 0;
    if (!magika_open(&m, folder, &error)) {
        fprintf(stderr, "filetype: %s\n", error.text);
        magika_close(&m);
        return 1;
    }
    for (int i = first; i < argc; i++) {
        answer result;
        if (identify(&m, argv[i], &result, &error)) {
            printf("%-12s %.4f  %s\n", result.label, result.score, argv[i]);
        } else {
            fprintf(stderr, "filetype: %s: %s\n", argv[i], error.text);
            failed = 1;
        }
    }
    magika_close(&m);
    return failed;
}
