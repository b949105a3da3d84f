/* completion.c: "ox completion", what makes a shell complete command lines: out of the usages of the subcommands. */
#include <stdio.h>
#include <string.h>

#include "subcommands.h"
#include "usage.h"

/* The completions after an option. */
typedef enum wanted {
    NOTHING, /* it takes no value */
    ANYTHING,
    A_FILE,
    A_FOLDER
} wanted;

static bool is_value(const ox_usage_option *option, const char *text) {
    return option->value_size == strlen(text) && strncmp(option->value, text, option->value_size) == 0;
}

static wanted wants(const ox_usage_option *option) {
    if (!option->value_size)
        return NOTHING;
    if (is_value(option, "DIR"))
        return A_FOLDER;
    return is_value(option, "FILE") || is_value(option, "[NAME=]SOURCE") || is_value(option, "NAME=SOURCE") ||
                   is_value(option, "NAME[=FILE]")
               ? A_FILE
               : ANYTHING;
}

static bool takes_value(wanted what) {
    return what != NOTHING;
}

static bool takes_none(wanted what) {
    return what == NOTHING;
}

static bool is_folder(wanted what) {
    return what == A_FOLDER;
}

static bool is_other(wanted what) {
    return what == ANYTHING;
}

/* The names of the options that pass the test, with spaces between. */
static void print_options(const char *help, bool (*passes)(wanted what)) {
    ox_usage_option option;
    for (bool more = false; ox_usage_next(&help, &option);)
        if (passes(wants(&option))) {
            printf("%s%.*s", more ? " " : "", (int)option.name_size, option.name);
            more = true;
        }
}

static void print_names(void) {
    for (size_t i = 0; i < ox_subcommand_count; i++)
        printf("%s ", ox_subcommands[i].name);
    fputs("version help", stdout);
}

static void print_bash(void) {
    fputs(
        "# ox's completion for bash, written by ox completion bash.\n"
        "_ox() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags= values= folders= others= names='",
        stdout);
    print_names();
    fputs("'\n    COMPREPLY=()\n"
          "    [ \"$cur\" = = ] && cur=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$names\" -- \"$cur\") $(compgen -f -X '!*.onnx' -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; i < ox_subcommand_count; i++) {
        printf("    %s%s)\n        flags='", ox_subcommands[i].name, i ? "" : "|*.onnx");
        print_options(ox_subcommands[i].help, takes_none);
        fputs(" --help'\n        values='", stdout);
        print_options(ox_subcommands[i].help, takes_value);
        fputs("'\n        folders='", stdout);
        print_options(ox_subcommands[i].help, is_folder);
        fputs("'\n        others='", stdout);
        print_options(ox_subcommands[i].help, is_other);
        fputs("'\n        ;;\n", stdout);
    }
    fputs("    esac\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help) COMPREPLY=($(compgen -W \"$names\" -- \"$cur\")); return ;;\n"
          "    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")); return ;;\n"
          "    esac\n"
          "    case \" $others \" in *\" $prev \"*) return ;; esac\n"
          "    case \" $folders \" in *\" $prev \"*) COMPREPLY=($(compgen -d -- \"$cur\")); return ;; esac\n"
          "    case $cur in\n"
          "    -*) COMPREPLY=($(compgen -W \"$flags $values\" -- \"$cur\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _ox ox\n",
          stdout);
}

/* "'*--threads[N]:N:'": zsh's way to say that an option may come again and takes a value. */
static void print_zsh_option(const ox_usage_option *option) {
    static const char *const actions[] = {"", "", "_files", "_files -/"};
    const wanted what = wants(option);
    printf(" \\\n            '*%.*s", (int)option->name_size, option->name);
    if (what != NOTHING)
        printf(":%s:%s", what == A_FOLDER ? "folder" : what == A_FILE ? "file" : "value", actions[what]);
    putchar('\'');
}

static void print_zsh(void) {
    fputs("#compdef ox\n"
          "# ox's completion for zsh, written by ox completion zsh.\n"
          "_ox() {\n"
          "    local -a names=(",
          stdout);
    for (size_t i = 0; i < ox_subcommand_count; i++)
        printf("\n        '%s:%s'", ox_subcommands[i].name, ox_subcommands[i].summary);
    fputs("\n        'version:print the version' 'help:print help')\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe subcommand names\n"
          "        _files -g '*.onnx'\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $name in\n",
          stdout);
    for (size_t i = 0; i < ox_subcommand_count; i++) {
        const char *at = ox_subcommands[i].help;
        ox_usage_option option;
        if (strcmp(ox_subcommands[i].name, "completion") == 0)
            continue;
        printf("    %s%s)\n        _arguments", ox_subcommands[i].name, i ? "" : "|*.onnx");
        while (ox_usage_next(&at, &option))
            print_zsh_option(&option);
        fputs(" \\\n            '*:file:_files'\n        ;;\n", stdout);
    }
    fputs("    help) _describe subcommand names ;;\n"
          "    completion) _values shell bash zsh fish ;;\n"
          "    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _ox ]; then _ox \"$@\"; else compdef _ox ox; fi\n",
          stdout);
}

static void print_fish(void) {
    static const char *const ways[] = {"", " -x", " -r -F", " -x -a '(__fish_complete_directories)'"};
    fputs("# ox's completion for fish, written by ox completion fish.\n", stdout);
    for (size_t i = 0; i < ox_subcommand_count; i++) {
        const ox_subcommand *sub = &ox_subcommands[i];
        const char *at = sub->help;
        ox_usage_option option;
        printf("complete -c ox -n __fish_use_subcommand -a %s -d '%s'\n", sub->name, sub->summary);
        while (ox_usage_next(&at, &option)) {
            const bool is_long = option.name[1] == '-';
            printf("complete -c ox -n '__fish_seen_subcommand_from %s' -%c %.*s%s\n", sub->name, is_long ? 'l' : 's',
                   (int)option.name_size - 1 - is_long, option.name + 1 + is_long, ways[wants(&option)]);
        }
    }
    fputs("complete -c ox -n __fish_use_subcommand -a version -d 'print the version'\n"
          "complete -c ox -n __fish_use_subcommand -a help -d 'print help'\n"
          "complete -c ox -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh fish'\n",
          stdout);
}

int ox_command_completion(ox_args *args) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const char *shell, *more;
    if (!ox_args_positional(args, &shell))
        return args->failed ? OX_EXIT_USAGE
                            : ox_tool_usage(args->command, "for which shell? ox completion bash, zsh or fish");
    if (ox_args_positional(args, &more) || args->failed)
        return args->failed ? OX_EXIT_USAGE : ox_tool_usage(args->command, "one shell at a time");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print();
            return OX_EXIT_OK;
        }
    return ox_tool_usage(args->command, "no completion for '%s', only for bash, zsh and fish", shell);
}
