/* subject.h: a model that is to be damaged, and the inputs that it is run on. */
#ifndef OX_TORTURE_SUBJECT_H
#define OX_TORTURE_SUBJECT_H

#include "../../src/ox.h"

enum {
    SUBJECT_INPUTS = 64
};

typedef struct subject {
    char name[128]; /* of its folder or file */
    unsigned char *bytes;
    size_t size;
    ox_value *inputs[SUBJECT_INPUTS]; /* NULL where the model's own description says what to feed */
} subject;

/* Reads PATH/model.onnx and PATH/test_data_set_0/input_*.pb, or the one file PATH. False, with a message, if it cannot.
 */
bool subject_read(subject *s, const char *path);
void subject_free(subject *s);

/* A damaged copy in memory of just its size, which the caller frees: try 0 changes nothing, those
 * below `flips` change bytes, one in every second try and up to eight in the others; later ones cut the end off. The
 * same name and number give the same bytes. */
unsigned char *subject_damage(const subject *s, unsigned number, unsigned flips, size_t *size);

#endif
