/* digits: classifies 8x8 pictures of handwritten digits with a model that is part of the program.
 *
 *     digits [--ascii | --tsv] [PICTURE.pgm...]
 *
 * Draws each picture and a bar for the probability of each digit. Without pictures it takes those of the example.
 * A file name that begins with a digit and '_' says what the picture shows. --tsv prints the probabilities alone.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: Apache-2.0
 */
#include <glob.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ox.h"

/* The bytes of model.onnx as an array `digits_model`, written by make. */
#include "digits_model.h"

enum {
    SIDE = 8,
    PIXELS = SIDE * SIDE,
    DIGITS = 10,
    BAR = 40,
    WHITE = 255
};

typedef struct palette {
    const char *shade[5]; /* from paper to ink */
    const char *bar;
} palette;

static const palette ascii_palette = {.shade = {" ", ".", "+", "*", "#"}, .bar = "#"};
static const palette block_palette = {.shade = {" ", "░", "▒", "▓", "█"}, .bar = "█"};

/* The next number of a PGM file's text, -1 if there is none; comments run from '#' to the end of the line. */
static int next_number(FILE *file) {
    int number;
    while (fscanf(file, "%5d", &number) != 1)
        if (getc(file) != '#' || fscanf(file, "%*[^\n]") < 0)
            return -1;
    return number;
}

/* Reads a plain (P2) or binary (P5) PGM file of 8x8 pixels; NULL, or what is wrong. */
static const char *read_picture(const char *path, float pixels[PIXELS]) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot be opened";
    const char *wrong = NULL;
    const bool magic = getc(file) == 'P';
    const int kind = getc(file);
    if (!magic || (kind != '2' && kind != '5'))
        wrong = "is not a PGM file";
    const int width = next_number(file), height = next_number(file), white = next_number(file);
    if (!wrong && (width != SIDE || height != SIDE || white < 1 || white > 255))
        wrong = "is not of 8x8 pixels of one byte";
    if (kind == '5')
        getc(file);
    for (int i = 0; !wrong && i < PIXELS; i++) {
        const int value = kind == '5' ? getc(file) : next_number(file);
        if (value < 0 || value > white)
            wrong = "has missing pixels, or pixels brighter than its white";
        pixels[i] = (float)(value * WHITE) / (float)white;
    }
    fclose(file);
    return wrong;
}

/* One line of the report: a row of the picture, if there is one, and the bar of a digit. */
static void print_row(const palette *look, int row, const float *pixels, float probability, bool best) {
    printf("  ");
    for (int x = 0; x < SIDE; x++) {
        const int level = row < SIDE ? (int)(pixels[row * SIDE + x] * 4 / WHITE + 0.5F) : 0;
        printf("%s%s", look->shade[level], look->shade[level]);
    }
    printf("   %d ", row);
    const int length = (int)(probability * BAR + 0.5F);
    for (int i = 0; i < length; i++)
        fputs(look->bar, stdout);
    printf("%*s%5.1f %%%s\n", BAR - length + 1, "", (double)probability * 100, best ? " <" : "");
}

/* The digit that a file name begins with, -1 if it does not say. */
static int label_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return name[0] >= '0' && name[0] <= '9' && name[1] == '_' ? name[0] - '0' : -1;
}

/* Prints the probabilities as a line of a table. */
static void print_table(const char *path, const float *probabilities) {
    printf("%s", path);
    for (int digit = 0; digit < DIGITS; digit++)
        printf("\t%.9f", (double)probabilities[digit]);
    putchar('\n');
}

/* Draws the picture and what the model says of it; false if the file name says otherwise. */
static bool draw(const palette *look, const char *path, const float *pixels, const float *probabilities) {
    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (probabilities[digit] > probabilities[best])
            best = digit;
    const int label = label_of(path);
    printf("%s: %d, %s\n", path, best, label < 0 ? "and no label to compare" : best == label ? "right" : "wrong");
    for (int row = 0; row < DIGITS; row++)
        print_row(look, row, pixels, probabilities[row], row == best);
    putchar('\n');
    return label < 0 || best == label;
}

/* Classifies the pictures, one run each, and draws them, or prints a table if `look` is NULL. The number of drawn ones
 * that came out wrong, or -1 after an error. */
static int classify(ox_session *session, const palette *look, size_t count, char **paths, ox_error *error) {
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        float pixels[PIXELS];
        const char *problem = read_picture(paths[i], pixels);
        if (problem) {
            snprintf(error->text, sizeof error->text, "%s %s", paths[i], problem);
            return -1;
        }
        const int64_t dims[] = {1, 1, SIDE, SIDE};
        const ox_tensor image = {.dtype = OX_FLOAT, .rank = 4, .dims = dims, .data = pixels};
        ox_tensor result;
        if (ox_session_set_input(session, 0, &image, error) || ox_session_run(session, error) ||
            ox_session_output(session, 0, &result, error))
            return -1;
        if (look)
            wrong += !draw(look, paths[i], pixels, result.data);
        else
            print_table(paths[i], result.data);
    }
    return wrong;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, "");
    const palette *look = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? &block_palette : &ascii_palette;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        const bool tsv = strcmp(argv[first], "--tsv") == 0;
        if (!tsv && strcmp(argv[first], "--ascii") != 0) {
            fprintf(stderr, "usage: digits [--ascii | --tsv] [PICTURE.pgm...]\n");
            return 2;
        }
        look = tsv ? NULL : &ascii_palette;
    }
    glob_t own = {0};
    if (first == argc)
        glob(DIGITS_IMAGES "/*.pgm", 0, NULL, &own);
    const size_t count = first < argc ? (size_t)(argc - first) : own.gl_pathc;
    char **paths = first < argc ? argv + first : own.gl_pathv;

    ox_error error = {0};
    ox_model *model = NULL;
    ox_session *session = NULL;
    int wrong = -1;
    if (count == 0)
        snprintf(error.text, sizeof error.text, "no pictures in " DIGITS_IMAGES);
    else if (!ox_model_load_memory(digits_model, sizeof digits_model, NULL, &model, &error) &&
             !ox_session_create(model, NULL, &session, &error))
        wrong = classify(session, look, count, paths, &error);
    if (wrong < 0)
        fprintf(stderr, "digits: %s\n", error.text);
    else if (look)
        printf("%zu of %zu as their file names say\n", count - (size_t)wrong, count);
    ox_session_free(session);
    ox_model_free(model);
    globfree(&own);
    return wrong != 0;
}
