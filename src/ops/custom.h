/* custom.h: operators that the caller of the library describes (ox_operator), as rows like those of the table. */
#ifndef OX_OPS_CUSTOM_H
#define OX_OPS_CUSTOM_H

#include "op.h"

/* Fails, saying why, unless every descriptor can be used. */
ox_status ox_custom_check(const ox_operator *operators, size_t count, ox_error *error);

/* Makes rows for ox_op_find_in, in a pile; the operators must outlive them. */
ox_status ox_custom_rows(ox_pile *pile, const ox_operator *operators, size_t count, const ox_op **rows,
                         ox_error *error);

#endif
