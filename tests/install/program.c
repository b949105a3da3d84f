/* program.c MODEL: what a user of the installed library writes; C and C++. Doubles as a check of the header. */
#include <ox.h>
#include <stdio.h>

int main(int argc, char **argv) {
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_error error;
    float values[2] = {-1, 2};
    const int64_t dims[2] = {1, 2};
    ox_tensor in = {OX_FLOAT, 2, dims, NULL, values}, out;
    if (argc != 2 || ox_model_load_file(argv[1], NULL, &model, &error) ||
        ox_session_create(model, NULL, &session, &error) || ox_session_set_input(session, 0, &in, &error) ||
        ox_session_run(session, &error) || ox_session_output(session, 0, &out, &error)) {
        puts(argc == 2 ? error.text : "usage: program MODEL");
        return 1;
    }
    printf("ox %s: %g %g\n", ox_version(), ((float *)out.data)[0], ((float *)out.data)[1]);
    ox_session_free(session);
    ox_model_free(model);
    return 0;
}
