/* program.c: says that the library is there, and that it refuses what is no model. */
#include <ox.h>
#include <stdio.h>

int main(void) {
    ox_model *model = NULL;
    ox_error error;
    const ox_status status = ox_model_load_memory("\377", 1, NULL, &model, &error);
    printf("ox %s: %s: %s\n", ox_version(), ox_status_name(status), error.text);
    return status != OX_ERROR_MODEL;
}
