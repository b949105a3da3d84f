/* ox.c: the command ox: which subcommand, and help. */
#include <stdio.h>
#include <string.h>

#include "about.h"
#include "file.h"
#include "guard.h"
#include "nearest.h"
#include "subcommands.h"
#include "system.h"
#include "text.h"

static void print_overview(FILE *to) {
    fputs("usage: ox SUBCOMMAND [ARGUMENT]...\n\n", to);
    for (size_t i = 0; i < ox_subcommand_count; i++)
        fprintf(to, "  %-10s %s\n", ox_subcommands[i].name, ox_subcommands[i].summary);
    fputs("  version    print the version, with --json as JSON\n"
          "  help       print this, or 'help SUBCOMMAND' for more\n\n"
          "MODEL is an .onnx file, or - for standard input; 'ox MODEL' is 'ox run MODEL'.\n"
          "Exit status: 0, 1 for a model or an input that is at fault, 2 for wrong usage.\n\n"
          "Examples:\n"
          "  ox info model.onnx\n"
          "  ox run model.onnx -i x.npy\n"
          "  ox help run\n",
          to);
}

/* Reports an unknown subcommand, with a suggestion. */
static int fail_unknown(const char *name) {
    ox_text near = {0};
    ox_nearest nearest = {.wanted = name};
    for (size_t i = 0; i < ox_subcommand_count; i++)
        ox_nearest_add(&nearest, ox_subcommands[i].name);
    ox_nearest_add(&nearest, *name == '-' ? "--version" : "version");
    ox_nearest_add(&nearest, *name == '-' ? "--help" : "help");
    ox_nearest_put(&nearest, &near);
    int status =
        ox_tool_usage(NULL, *name == '-' ? "unknown option '%s'%s" : "no subcommand '%s'%s", name, ox_text_get(&near));
    ox_text_free(&near);
    return status;
}

static int help(const char *name) {
    const ox_subcommand *found = name ? ox_subcommand_find(name) : NULL;
    if (found)
        fputs(found->help, stdout);
    else if (!name || strcmp(name, "help") == 0 || strcmp(name, "version") == 0)
        print_overview(stdout);
    else
        return fail_unknown(name);
    return OX_EXIT_OK;
}

static int version(const char *argument) {
    if (argument && strcmp(argument, "--json") == 0)
        printf("{\"name\": \"%s\", \"version\": \"%s\", \"licence\": \"%s\", \"address\": \"%s\"}\n", OX_NAME,
               ox_version(), OX_LICENCE, OX_ADDRESS);
    else if (argument)
        return ox_tool_usage(NULL, "version takes --json or nothing, not '%s'", argument);
    else
        printf("%s %s, %s%s%s\n", OX_NAME, ox_version(), OX_LICENCE, *OX_ADDRESS ? ", " : "", OX_ADDRESS);
    return OX_EXIT_OK;
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

/* A file in place of a subcommand, there or not, is a model. */
static bool is_model(const char *name) {
    static const char ending[] = ".onnx";
    size_t length = strlen(name), tail = sizeof ending - 1;
    return ox_file_exists(name) || (length > tail && ox_text_alike(name + length - tail, ending, tail));
}

static int dispatch(char **arguments) {
    const char *name = arguments[0];
    if (!name) {
        print_overview(stderr);
        return OX_EXIT_USAGE;
    }
    if (is_one_of(name, "version", "--version", "-V"))
        return version(arguments[1]);
    if (is_one_of(name, "help", "--help", "-h"))
        return help(arguments[1]);
    const ox_subcommand *found = ox_subcommand_find(name);
    const bool runs_model = !found && is_model(name);
    if (runs_model)
        found = ox_subcommand_find("run");
    if (!found)
        return fail_unknown(name);
    for (char **at = arguments + 1; *at && strcmp(*at, "--") != 0; at++)
        if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0)
            return help(found->name);
    ox_args args = {.command = found->name, .help = found->help, .at = arguments + !runs_model};
    return found->run(&args);
}

/* Python gives arguments of its own, and has the streams open. */
#ifdef main
#define START(arguments) (arguments)
#else
#define START(arguments) ox_system_start(arguments)
#endif

int main(int count, char **arguments) {
    (void)count;
    arguments = START(arguments);
    ox_guard_start();
    int status = dispatch(arguments[0] ? arguments + 1 : arguments);
    return status ? status : ox_tool_flush();
}
