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
     "usage: ox run MODEL [-i [NAME=]SOURCE]... [-d DIM=N]... [-o NAME[=FILE]]...\n"
     "              [--save DIR] [--save-all DIR] [--save-inputs DIR]\n"
     "              [--expect NAME=SOURCE]... [--rtol X] [--atol X] [--stats]\n"
     "              [--top N] [--labels FILE] [--json] [--repeat N] [--threads N]\n"
     "              [--no-fuse] [--no-winograd] [--no-integer] [--max-memory SIZE]\n"
     "              [--timeout SECONDS] [--profile] [--trace FILE] [--plugin FILE]... [--quiet]\n"
     "\n"
     "  -i [NAME=]SOURCE  an input; without NAME the next one in graph order,\n"
     "                    inputs that have a default last. SOURCE is one of\n"
     "      FILE.npy              a numpy array\n"
     "      FILE.npz              several: without NAME, each is the input it is named after\n"
     "      FILE.pb               a TensorProto, SequenceProto, OptionalProto or MapProto,\n"
     "                            by what the input is\n"
     "      FILE.png .pgm .ppm    a picture, values 0 to 255; behind it, each with a comma,\n"
     "                            resize=N (shorter side, then the middle N x N) or\n"
     "                            resize=WxH, crop=N or WxH, mean=[R,G,B], std=[R,G,B]\n"
     "                            (both for values 0 to 1), range=1 or 255,\n"
     "                            layout=nchw|nhwc|chw|hwc|hw, channels=rgb|bgr:\n"
     "                            cat.png,resize=256,crop=224,mean=0.5,std=0.5\n"
     "      '[[1,2],[3,4]]', 7, '[\"a\",\"b\"]', true, nan, 1+2j\n"
     "      '[[1,2],[3]]', none, '{1: 0.5, 2: [3,4]}'   for a sequence (the items in a\n"
     "                            list), an optional (or its item) and a map\n"
     "      @zeros, @ones, @random[:LO..HI][:SEED], with a shape if the model has none:\n"
     "                            @ones[3,4]\n"
     "      -                     a .npy on standard input; of what is no tensor, a .pb\n"
     "      FILE,cast  -,cast     values of another type, converted: int64 for float\n"
     "  -d DIM=N          binds an open dimension, as in -d batch=4; -d x.0=4 is the\n"
     "                    first one of the input x\n"
     "  -o NAME=FILE      writes an output, or any value inside the model, as .npy, or\n"
     "                    as .pb if FILE is called so, which sequences, optionals and\n"
     "                    maps need; - is standard output, and then nothing else is\n"
     "                    printed there; given twice, even on a terminal\n"
     "  -o NAME           prints this value, and of the others only those named so\n"
     "  --save DIR        writes all outputs as DIR/output_0.npy, output_1.npy, ...;\n"
     "                    .pb for what is no tensor, here and in the next two\n"
     "  --save-all DIR    writes every value as DIR/NAME.npy, listed in DIR/index.json\n"
     "  --save-inputs DIR writes the inputs as DIR/input_0.npy, input_1.npy, ...\n"
     "  --expect NAME=SOURCE  compares a value with a file or a literal; status 1 if\n"
     "                    they differ by more than ATOL + RTOL * |expected|\n"
     "  --rtol X --atol X the tolerance of --expect: 1e-3 and 1e-7\n"
     "  --stats           prints minimum, maximum, mean, NaNs and infinities instead of\n"
     "                    values\n"
     "  --top N           prints the N likeliest classes of outputs [C] and [N,C], by a\n"
     "                    softmax where they are no probabilities\n"
     "  --labels FILE     names the classes, a line each; without --top the 5 likeliest\n"
     "  --json            prints the outputs as one JSON object\n"
     "  --repeat N        runs N times and says how long a run takes\n"
     "  --threads N       splits large operators over N threads\n"
     "  --no-fuse         runs elementwise nodes one by one; the results are the same\n"
     "  --no-winograd     computes convolutions 3x3 as plain sums of products: slower,\n"
     "                    and rounded a little less\n"
     "  --no-integer      computes in floats between DequantizeLinear and\n"
     "                    QuantizeLinear, not by integer operators\n"
     "  --max-memory SIZE an error if model and run take more: 65536, 64K, 512M, 2G\n"
     "  --timeout SECONDS an error if it takes longer: 10, 0.5\n"
     "  --profile         says where the time went: a line for each node and pass\n"
     "  --trace FILE      writes a trace for chrome://tracing or ui.perfetto.dev\n"
     "  --plugin FILE     a shared object with operators of your own\n"
     "  --quiet           prints no outputs\n"},
    {"bench", ox_command_bench, "measure how fast a model runs",
     "usage: ox bench MODEL [-i [NAME=]SOURCE]... [-d DIM=N]... [--threads N]\n"
     "                [--no-fuse] [--no-winograd] [--no-integer]\n"
     "                [--max-memory SIZE] [--timeout SECONDS]\n"
     "                [--save-inputs DIR] [--json] [--profile] [--trace FILE]\n"
     "                [--plugin FILE]...\n"
     "\n"
     "Runs a model until it is warm, then for at least a second and 10 times. Prints\n"
     "the median, the times that 10 % and 90 % of the runs stay below, the bytes that\n"
     "a run reads and writes in memory, and how fast that is, also as a share of what\n"
     "memcpy reaches on 64 MiB just before and after.\n"
     "\n"
     "  -i [NAME=]SOURCE  an input, as of ox run; inputs not given are @random\n"
     "  -d DIM=N          binds an open dimension, as of ox run; those not given are 1\n"
     "  --threads N       splits large operators over N threads\n"
     "  --no-fuse         runs elementwise nodes one by one\n"
     "  --no-winograd     computes convolutions 3x3 as plain sums of products\n"
     "  --no-integer      computes quantized networks in floats, as of ox run\n"
     "  --max-memory SIZE an error if model and run take more: 65536, 64K, 512M, 2G\n"
     "  --timeout SECONDS an error if it takes longer: 10, 0.5\n"
     "  --save-inputs DIR writes the inputs as DIR/input_0.npy, input_1.npy, ...\n"
     "  --json            prints one JSON object: median_ns, p10_ns, p90_ns, runs,\n"
     "                    bytes, GBps, memcpy_GBps, memcpy_share, threads, model\n"
     "  --profile         adds a line for each node and pass, from extra runs\n"
     "  --trace FILE      writes a trace for chrome://tracing or ui.perfetto.dev\n"
     "  --plugin FILE     a shared object with operators of your own\n"},
    {"info", ox_command_info, "say what a model is and needs",
     "usage: ox info MODEL [-d DIM=N]... [--plugin FILE]... [--nodes] [--json]\n"
     "\n"
     "Prints producer, versions, inputs, outputs, operators, parameters, what is\n"
     "unsupported, and the memory of a run.\n"
     "\n"
     "  -d DIM=N       binds an open dimension, as of ox run; those not given are 1\n"
     "  --plugin FILE  a shared object with operators of your own\n"
     "  --nodes        adds a line for each node, in the order of a run, with types and\n"
     "                 shapes as far as they are known before it\n"
     "  --json         prints all of it as JSON\n"},
    {"embed", ox_command_embed, "write what a firmware needs to run models",
     "usage: ox embed MODEL... -o DIR [-d DIM=N]...\n"
     "\n"
     "Writes into DIR: ops.txt, the operators and element types that the models need,\n"
     "for `make device OPS=DIR/ops.txt`; NAME.c and NAME.h for each model, its bytes\n"
     "with the weights aligned; and main.c, a program that runs the first one.\n"
     "\n"
     "  -o DIR         a folder, made if it is not there\n"
     "  -d DIM=N       binds a symbolic dimension, as in -d batch=1\n"},
    {"test", ox_command_test, "run cases of the ONNX backend test layout",
     "usage: ox test DIR... [--tsv FILE] [--pending FILE] [--rtol X] [--atol X]\n"
     "               [--threads N] [--no-fuse] [--no-winograd] [--no-integer]\n"
     "               [--max-memory SIZE] [--timeout SECONDS] [--plugin FILE]... [--quiet]\n"
     "\n"
     "A DIR is a case (model.onnx, test_data_set_*/input_N.pb and output_N.pb) or a\n"
     "folder of cases. The last line is 'N passed, N failed, N skipped'.\n"
     "\n"
     "  --tsv FILE      writes case, passed|failed|unsupported, and reason, with tabs\n"
     "  --pending FILE  unsupported cases listed here, one 'case reason' a line, are\n"
     "                  skipped instead of failed; a listed case that passes fails\n"
     "  --rtol X, --atol X  the tolerance, in place of the case's own or 1e-3 and 1e-7\n"
     "  --threads N, --no-fuse, --no-winograd, --no-integer, --max-memory SIZE,\n"
     "  --timeout SECONDS, --plugin FILE   as of ox run\n"
     "  --quiet         prints failures and the last line only\n"},
    {"ops", ox_command_ops, "list the operators that ox has",
     "usage: ox ops [OPERATOR...] [--markdown]\n"
     "\n"
     "Lists all operators, or says what ox has of some: Conv, com.example.Mine.\n"
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
          "MODEL is an .onnx file, or - for standard input.\n"
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
        if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0)
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
