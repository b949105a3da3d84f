/* nearest.c: suggestions for misspelt names. */
#include "nearest.h"

#include <string.h>

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Letters to add, drop, change or swap with their neighbour, to get from one name to the other. */
static int distance(const char *a, const char *b) {
    int rows[3][OX_NEAREST_LENGTH + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    const int n = (int)strlen(a), m = (int)strlen(b);
    for (int j = 0; j <= m; j++)
        last[j] = j;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int changed = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = least(changed, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

/* How far a name is from the wanted one; FAR if it is another. */
static int rate(const char *wanted, const char *name) {
    enum {
        FAR = 1000,
        LEAST_PART = 3
    };
    size_t n = strlen(wanted), m = strlen(name);
    if (n > OX_NEAREST_LENGTH || m > OX_NEAREST_LENGTH)
        return FAR;
    const int most = (int)(n + 2) / 3; /* letters that may differ */
    int letters = m > n + (size_t)most || n > m + (size_t)most ? FAR : distance(wanted, name);
    if (letters <= most && letters < (int)n) /* some letter stays */
        return letters;
    bool begins = ox_text_alike(name, wanted, n), ends = m >= n && ox_text_alike(name + m - n, wanted, n);
    return n >= LEAST_PART && (begins || ends) ? most + 1 : FAR;
}

static bool has(const ox_nearest *nearest, const char *name) {
    for (int i = 0; i < nearest->count; i++)
        if (strcmp(nearest->names[i], name) == 0)
            return true;
    return false;
}

void ox_nearest_add(ox_nearest *nearest, const char *name) {
    int found = rate(nearest->wanted, name);
    if (found > OX_NEAREST_LENGTH || !*name || has(nearest, name))
        return;
    int at = nearest->count;
    while (at > 0 && nearest->distances[at - 1] > found)
        at--;
    if (at == OX_NEAREST_MOST)
        return;
    nearest->count += nearest->count < OX_NEAREST_MOST;
    for (int i = nearest->count - 1; i > at; i--) {
        nearest->names[i] = nearest->names[i - 1];
        nearest->distances[i] = nearest->distances[i - 1];
    }
    nearest->names[at] = name;
    nearest->distances[at] = found;
}

void ox_nearest_put(const ox_nearest *nearest, ox_text *text) {
    for (int i = 0; i < nearest->count; i++) {
        ox_text_put(text, !i ? "; did you mean " : i + 1 < nearest->count ? ", " : " or ");
        ox_text_format(text, "'%s'", nearest->names[i]);
    }
    ox_text_put(text, nearest->count ? "?" : "");
}
