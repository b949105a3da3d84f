/* speech: says where somebody speaks in a .wav file, with the model of the Python package silero-vad (`make models`
 * fetches it).
 *
 *     speech [-m MODEL.onnx] [--ascii | --tsv] FILE.wav...
 *
 * Takes 16-bit PCM of 8,000 or 16,000 Hz, with one channel or two. Draws how sure the model is of a voice over time,
 * and prints the stretches in seconds. --tsv prints the probability of each step alone. A file is read step by step,
 * and may be as long as it likes; `-` is standard input.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: Apache-2.0
 */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ox.h"

enum {
    MOST_STEP = 512,    /* samples of a step at 16,000 Hz */
    MOST_BEFORE = 64,   /* samples of the step before, which go in front */
    STATE = 2 * 1 * 128 /* what the model remembers */
};

/* Somebody speaks from START on until the model is less sure than END for a while. */
#define START 0.5F
#define END 0.35F
#define PAUSE 0.2     /* seconds that a shorter pause does not last */
#define SHORTEST 0.25 /* seconds of a stretch */
#define MARGIN 0.03   /* seconds before and behind, for soft sounds */

typedef struct sound {
    FILE *file;
    int rate, channels;
    size_t left; /* bytes of samples */
} sound;

typedef struct detector {
    ox_model *model;
    ox_session *session;
    int64_t rate;
    int step, before;
    float samples[MOST_BEFORE + MOST_STEP];
    float state[STATE];
} detector;

/* The probabilities of all steps. */
typedef struct course {
    float *at;
    size_t count, room;
} course;

/* ---- Sound ------------------------------------------------------------------------------------------------------- */

static unsigned little(const unsigned char *bytes, int count) {
    unsigned value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static bool skip(FILE *file, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (getc(file) == EOF)
            return false;
    return true;
}

/* Reads the chunk that says what the samples are; false, and a text in error, if they are not what the model takes. */
static bool read_format(sound *s, size_t size, ox_error *error) {
    unsigned char fmt[40] = {0};
    const size_t known = size < sizeof fmt ? size : sizeof fmt;
    if (size < 16 || fread(fmt, 1, known, s->file) != known || !skip(s->file, size - known + size % 2)) {
        snprintf(error->text, sizeof error->text, "is cut short");
        return false;
    }
    const unsigned kind = little(fmt, 2) == 0xFFFE ? little(fmt + 24, 2) : little(fmt, 2);
    const unsigned channels = little(fmt + 2, 2), rate = little(fmt + 4, 4), bits = little(fmt + 14, 2);
    if (kind != 1 || bits != 16)
        snprintf(error->text, sizeof error->text, "has samples of %u bits in format %u, not 16-bit PCM (format 1)",
                 bits, kind);
    else if (channels < 1 || channels > 2)
        snprintf(error->text, sizeof error->text, "has %u channels, not 1 or 2", channels);
    else if (rate != 8000 && rate != 16000)
        snprintf(error->text, sizeof error->text, "has %u samples a second: the model takes 8000 or 16000", rate);
    else
        s->rate = (int)rate;
    s->channels = (int)channels;
    return s->rate != 0;
}

/* Goes to the samples; false, and a text in error, if that fails. */
static bool sound_open(sound *s, ox_error *error) {
    unsigned char head[12];
    if (fread(head, 1, 12, s->file) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0) {
        snprintf(error->text, sizeof error->text, "is not a .wav file");
        return false;
    }
    while (fread(head, 1, 8, s->file) == 8) {
        const size_t size = little(head + 4, 4);
        if (memcmp(head, "data", 4) == 0 && s->rate) {
            s->left = size;
            return true;
        }
        if (memcmp(head, "fmt ", 4) == 0 && !s->rate) {
            if (!read_format(s, size, error))
                return false;
        } else if (!skip(s->file, size + size % 2)) {
            break;
        }
    }
    snprintf(error->text, sizeof error->text, "has no samples");
    return false;
}

/* The next samples from -1 to 1, a mean over the channels, with silence behind the last one. Their number. */
static int read_samples(sound *s, float *samples, int count) {
    int found = 0;
    const size_t width = 2 * (size_t)s->channels;
    for (int i = 0; i < count; i++) {
        unsigned char frame[4];
        samples[i] = 0;
        if (s->left < width || fread(frame, 1, width, s->file) != width) {
            s->left = 0;
            continue;
        }
        for (int c = 0; c < s->channels; c++)
            samples[i] += (float)(int16_t)little(frame + 2 * c, 2) / (32768.0F * (float)s->channels);
        s->left -= width;
        found++;
    }
    return found;
}

/* ---- Model ------------------------------------------------------------------------------------------------------- */

/* Sets the three inputs, which stay where they are: the samples, the state, the rate. */
static bool detector_start(detector *d, int rate, ox_error *error) {
    static const int64_t state_dims[] = {2, 1, STATE / 2};
    d->rate = rate;
    d->step = MOST_STEP * rate / 16000;
    d->before = MOST_BEFORE * rate / 16000;
    memset(d->samples, 0, sizeof d->samples);
    memset(d->state, 0, sizeof d->state);
    const int64_t dims[] = {1, d->before + d->step};
    const ox_tensor samples = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = d->samples};
    const ox_tensor state = {.dtype = OX_FLOAT, .rank = 3, .dims = state_dims, .data = d->state};
    const ox_tensor hertz = {.dtype = OX_INT64, .data = &d->rate};
    return !ox_session_set_input(d->session, 0, &samples, error) &&
           !ox_session_set_input(d->session, 1, &state, error) && !ox_session_set_input(d->session, 2, &hertz, error);
}

static bool is_share(const float *value) {
    return *value >= 0 && *value <= 1;
}

/* Runs the model on the step in d->samples and keeps what it remembers and what goes in front of the next step. */
static bool detector_step(detector *d, float *probability, ox_error *error) {
    ox_tensor result, state;
    if (ox_session_run(d->session, error) || ox_session_output(d->session, 0, &result, error) ||
        ox_session_output(d->session, 1, &state, error))
        return false;
    if (result.dtype != OX_FLOAT || ox_tensor_count(&result) != 1 || state.dtype != OX_FLOAT ||
        ox_tensor_count(&state) != STATE || !is_share(result.data)) {
        snprintf(error->text, sizeof error->text, "the model's results are not those of silero-vad");
        return false;
    }
    memcpy(probability, result.data, sizeof *probability);
    memcpy(d->state, state.data, sizeof d->state);
    memmove(d->samples, d->samples + d->step, (size_t)d->before * sizeof *d->samples);
    return true;
}

/* The course of a whole file; false, and a text in error, if that fails. */
static bool listen(detector *d, sound *s, course *all, ox_error *error) {
    if (!sound_open(s, error) || !detector_start(d, s->rate, error))
        return false;
    for (all->count = 0; read_samples(s, d->samples + d->before, d->step); all->count++) {
        if (all->count == all->room) {
            all->room = all->room * 2 + 256;
            float *larger = realloc(all->at, all->room * sizeof *larger);
            if (!larger) {
                snprintf(error->text, sizeof error->text, "memory is out");
                return false;
            }
            all->at = larger;
        }
        if (!detector_step(d, &all->at[all->count], error))
            return false;
    }
    return true;
}

/* ---- What is printed --------------------------------------------------------------------------------------------- */

/* A column for each step, or for some of a long file: the likeliest one. */
static void draw(const course *all, double step, bool ascii) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
    enum {
        COLUMNS = 72,
        LEVELS = 8
    };
    const size_t columns = all->count < COLUMNS ? all->count : COLUMNS;
    printf("  |");
    for (size_t c = 0; c < columns; c++) {
        float most = 0;
        for (size_t i = c * all->count / columns; i < (c + 1) * all->count / columns; i++)
            most = all->at[i] > most ? all->at[i] : most;
        fputs((ascii ? letters : blocks)[(int)(most * LEVELS + 0.5F)], stdout);
    }
    printf("|\n  0%*.1f s\n", (int)columns, (double)all->count * step);
}

/* A stretch, unless it is too short. Returns 1 or 0. */
static int print_stretch(const course *all, double step, size_t from, size_t to) {
    if ((double)(to - from) * step < SHORTEST)
        return 0;
    const double start = (double)from * step - MARGIN, end = (double)to * step + MARGIN;
    const double last = (double)all->count * step;
    printf("  %8.2f s to %8.2f s\n", start > 0 ? start : 0, end < last ? end : last);
    return 1;
}

static void print_stretches(const course *all, double step) {
    const size_t pause = (size_t)(PAUSE / step) + 1;
    size_t from = 0, quiet = 0;
    bool speaks = false;
    int count = 0;
    for (size_t i = 0; i < all->count; i++) {
        quiet = all->at[i] < END ? quiet + 1 : 0;
        if (!speaks && all->at[i] >= START) {
            speaks = true;
            from = i;
        }
        if (speaks && quiet >= pause) {
            speaks = false;
            count += print_stretch(all, step, from, i + 1 - quiet);
        }
    }
    if (speaks)
        count += print_stretch(all, step, from, all->count - quiet);
    if (!count)
        puts("  nobody speaks");
}

typedef enum look {
    BLOCKS,
    ASCII,
    TSV
} look;

static void print(const char *path, const course *all, double step, look how) {
    if (how == TSV) {
        for (size_t i = 0; i < all->count; i++)
            printf("%s\t%.3f\t%.6f\n", path, (double)i * step, (double)all->at[i]);
        return;
    }
    printf("%s\n", path);
    draw(all, step, how == ASCII);
    print_stretches(all, step);
}

/* ---- Command line ------------------------------------------------------------------------------------------------ */

/* False, and a text in error, if the file is not what it should be. */
static bool tell(detector *d, const char *path, course *all, look how, ox_error *error) {
    sound s = {.file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb")};
    if (!s.file) {
        snprintf(error->text, sizeof error->text, "cannot be opened");
        return false;
    }
    const bool good = listen(d, &s, all, error);
    if (good)
        print(path, all, (double)d->step / s.rate, how);
    if (s.file != stdin)
        fclose(s.file);
    return good;
}

static bool is(const char *word, const char *option) {
    return word && strcmp(word, option) == 0;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, "");
    const char *path = SPEECH_MODEL;
    look how = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? BLOCKS : ASCII;
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (is(argv[i], "-m") && i + 1 < argc)
            path = argv[++i];
        else if (is(argv[i], "--ascii") || is(argv[i], "--tsv"))
            how = is(argv[i], "--tsv") ? TSV : ASCII;
        else
            break;
    }
    if (i == argc || (argv[i][0] == '-' && argv[i][1])) {
        fprintf(stderr, "usage: speech [-m MODEL.onnx] [--ascii | --tsv] FILE.wav...\n");
        return 2;
    }
    ox_error error = {0};
    detector d = {0};
    course all = {0};
    int status = 0;
    if (ox_model_load_file(path, NULL, &d.model, &error) || ox_session_create(d.model, NULL, &d.session, &error)) {
        fprintf(stderr, "speech: %s (\"make models\" fetches the model)\n", error.text);
        status = 1;
    }
    for (; d.session && i < argc; i++)
        if (!tell(&d, argv[i], &all, how, &error)) {
            fprintf(stderr, "speech: %s: %s\n", argv[i], error.text);
            status = 1;
        }
    ox_session_free(d.session);
    ox_model_free(d.model);
    free(all.at);
    return status;
}
