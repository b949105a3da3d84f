/* ox.c: the command ox: which subcommand, and help. */
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "tool.h"

typedef struct subcommand {
    const char *name;
    int (*run)(ox_args *args);
    const char *summary;
    const char *help;
} subcommand;

static const subcommand subcommands[] = {
    {"run", ox_command_run, "run a model on inputs of the command line",
     "usage: ox run MODEL [-i [NAME=]SOURCE]... [-d DIM=N]... [-o NAME=FILE]...\n"
     "              [--save DIR] [--repeat N] [--threads N] [--no-fuse]\n"
     "              [--max-memory SIZE] [--timeout SECONDS] [--profile]\n"
     "              [--trace FILE] [--plugin FILE]... [--quiet]\n"
     "\n"
     "  -i [NAME=]SOURCE  an input; without NAME the next one in graph order,\n"
     "                    inputs that have a default last. SOURCE is one of\n"
     "      FILE.npy              a numpy array\n"
     "      FILE.pb               a TensorProto\n"
     "      FILE.png .pgm .ppm    a picture, values 0 to 255\n"
     "      '[[1,2],[3,4]]', 7, '[\"a\",\"b\"]', true, nan, 1+2j\n"
     "      @zeros, @ones, @random[:SEED]\n"
     "      -                     a .npy on standard input\n"
     "  -d DIM=N          binds a symbolic dimension, as in -d batch=4\n"
     "  -o NAME=FILE      writes an output as .npy; - is standard output,\n"
     "                    and then nothing else is printed there\n"
     "  --save DIR        writes all outputs as DIR/output_0.npy, output_1.npy, ...\n"
     "  --repeat N        runs N times and says how long a run takes\n"
     "  --threads N       splits large operators over N threads\n"
     "  --no-fuse         runs elementwise nodes one by one; the results are the same\n"
     "  --max-memory SIZE an error if model and run take more: 65536, 64K, 512M, 2G\n"
     "  --timeout SECONDS an error if it takes longer: 10, 0.5\n"
     "  --profile         says where the time went: a line for each node and pass\n"
     "  --trace FILE      writes a trace for chrome://tracing or ui.perfetto.dev\n"
     "  --plugin FILE     a shared object with operators of your own\n"
     "  --quiet           prints no outputs\n"},
    {"bench", ox_command_bench, "measure how fast a model runs",
     "usage: ox bench MODEL [-i [NAME=]SOURCE]... [-d DIM=N]... [--threads N]\n"
     "                [--no-fuse] [--max-memory SIZE] [--timeout SECONDS]\n"
     "                [--json] [--profile] [--trace FILE] [--plugin FILE]...\n"
     "\n"
     "Runs a model until it is warm, then for at least a second and 10 times. Prints\n"
     "the median, the times that 10 % and 90 % of the runs stay below, the bytes that\n"
     "a run reads and writes in memory, and how fast that is, also as a share of what\n"
     "memcpy reaches on 64 MiB just before and after.\n"
     "\n"
     "  -i [NAME=]SOURCE  an input, as of ox run; inputs not given are @random\n"
     "  -d DIM=N          binds a symbolic dimension, as in -d batch=4\n"
     "  --threads N       splits large operators over N threads\n"
     "  --no-fuse         runs elementwise nodes one by one\n"
     "  --max-memory SIZE an error if model and run take more: 65536, 64K, 512M, 2G\n"
     "  --timeout SECONDS an error if it takes longer: 10, 0.5\n"
     "  --json            prints one JSON object: median_ns, p10_ns, p90_ns, runs,\n"
     "                    bytes, GBps, memcpy_GBps, memcpy_share, threads, model\n"
     "  --profile         adds a line for each node and pass, from extra runs\n"
     "  --trace FILE      writes a trace for chrome://tracing or ui.perfetto.dev\n"
     "  --plugin FILE     a shared object with operators of your own\n"},
    {"info", ox_command_info, "say what a model is and needs",
     "usage: ox info MODEL [-d DIM=N]... [--plugin FILE]... [--json]\n"
     "\n"
     "Prints producer, versions, inputs, outputs, operators, parameters, what is\n"
     "unsupported, and the memory of a run when all dimensions are known.\n"
     "\n"
     "  -d DIM=N       binds a symbolic dimension, as in -d batch=4\n"
     "  --plugin FILE  a shared object with operators of your own\n"
     "  --json         prints all of it as JSON\n"},
    {"embed", ox_command_embed, "write what a firmware needs to run models",
     "usage: ox embed MODEL... -o DIR [-d DIM=N]...\n"
     "\n"
     "Writes into DIR: ops.txt, the operators and element types that the models need,\n"
     "for `make device OPS=DIR/ops.txt`; NAME.c and NAME.h for each model, its bytes\n"
     "with the weights aligned; and main.c, a program that runs the first one.\n"
     "\n"
     "  -o DIR         an existing folder\n"
     "  -d DIM=N       binds a symbolic dimension, as in -d batch=1\n"},
    {"test", ox_command_test, "run cases of the ONNX backend test layout",
     "usage: ox test DIR... [--tsv FILE] [--pending FILE] [--threads N] [--no-fuse]\n"
     "               [--max-memory SIZE] [--timeout SECONDS] [--plugin FILE]...\n"
     "               [--quiet]\n"
     "\n"
     "A DIR is a case (model.onnx, test_data_set_*/input_N.pb and output_N.pb) or a\n"
     "folder of cases. The last line is 'N passed, N failed, N skipped'.\n"
     "\n"
     "  --tsv FILE      writes case, passed|failed|unsupported, and reason, with tabs\n"
     "  --pending FILE  unsupported cases listed here, one 'case reason' a line, are\n"
     "                  skipped instead of failed; a listed case that passes fails\n"
     "  --threads N, --no-fuse, --max-memory SIZE, --timeout SECONDS, --plugin FILE\n"
     "                  as of ox run\n"
     "  --quiet         prints failures and the last line only\n"},
    {"ops", ox_command_ops, "list the operators that ox has",
     "usage: ox ops [--markdown]\n"
     "\n"
     "  --markdown  prints the table as docs/operators.md has it\n"},
};

enum {
    SUBCOMMANDS = sizeof subcommands / sizeof *subcommands
};

static const subcommand *find(const char *name) {
    for (int i = 0; i < SUBCOMMANDS; i++)
        if (strcmp(subcommands[i].name, name) == 0)
            return &subcommands[i];
    return NULL;
}

static void print_overview(FILE *to) {
    fputs("usage: ox SUBCOMMAND [ARGUMENT]...\n\n", to);
    for (int i = 0; i < SUBCOMMANDS; i++)
        fprintf(to, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("  version  print the version\n"
          "  help     print this, or 'help SUBCOMMAND' for more\n\n"
          "Exit status: 0, 1 for a model or an input that is at fault, 2 for wrong usage.\n",
          to);
}

static int help(const char *name) {
    const subcommand *found = name ? find(name) : NULL;
    if (found)
        fputs(found->help, stdout);
    else if (!name || strcmp(name, "help") == 0 || strcmp(name, "version") == 0)
        print_overview(stdout);
    else
        return ox_tool_usage(NULL, "no subcommand '%s'", name);
    return OX_EXIT_OK;
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static int dispatch(char **arguments) {
    const char *name = arguments[0];
    if (!name) {
        print_overview(stderr);
        return OX_EXIT_USAGE;
    }
    if (is_one_of(name, "version", "--version", "-V")) {
        printf("ox %s\n", ox_version());
        return OX_EXIT_OK;
    }
    if (is_one_of(name, "help", "--help", "-h"))
        return help(arguments[1]);
    const subcommand *found = find(name);
    if (!found)
        return ox_tool_usage(NULL, "no subcommand '%s'", name);
    for (char **at = arguments + 1; *at && strcmp(*at, "--") != 0; at++)
        if (strcmp(*at, "--help") == 0)
            return help(name);
    ox_args args = {.command = name, .at = arguments + 1};
    return found->run(&args);
}

int main(int count, char **arguments) {
    (void)count;
    ox_guard_start();
    int status = dispatch(arguments[0] ? arguments + 1 : arguments);
    return status ? status : ox_tool_flush();
}
