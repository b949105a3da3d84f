/* digits.h: handwritten digits, the same for all systems. */
#ifndef DIGITS_H
#define DIGITS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Loads the model. NULL if that worked, or else the text of an error. */
const char *digits_begin(void);

/* How many pictures there are. */
int digits_count(void);

/* What picture `at` shows. */
int digits_label(int at);

/* What the model takes picture `at` for: 0 to 9, -1 after an error. */
int digits_classify(int at);

/* Bytes of the buffer that were in use at most. */
unsigned digits_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
