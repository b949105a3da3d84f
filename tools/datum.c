/* datum.c: what a model takes or gives, of any kind, as text. */
#include "datum.h"

#include <string.h>

#include "json.h"
#include "print.h"
#include "stats.h"

enum {
    MOST_ITEMS = 1000, /* that are all shown, as many as elements of a tensor, ... */
    SHOWN_ITEMS = 3,   /* or else so many at both ends */
    INDENT = 2
};

ox_status ox_datum_output(const ox_session *session, size_t index, ox_datum *datum, ox_error *error) {
    *datum = (ox_datum){0};
    ox_status status = ox_session_output_value(session, index, &datum->value, error);
    return status || datum->value ? status : ox_session_output(session, index, &datum->tensor, error);
}

static bool shows_top(ox_manner manner, const ox_tensor *tensor) {
    return manner.top && manner.top->count && ox_top_fits(tensor);
}

static const char *key_at(const ox_tensor *keys, size_t i) {
    return (const char *)keys->data + i * ox_dtype_size(keys->dtype);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void put_type(ox_text *text, const ox_tensor *tensor) {
    ox_text_format(text, "%s ", ox_dtype_name(tensor->dtype));
    ox_text_shape(text, tensor->rank, tensor->dims);
    ox_text_put(text, "\n");
}

static void put_elements(ox_text *text, const ox_tensor *tensor, bool stats) {
    if (stats) {
        ox_stats found = ox_stats_of(tensor);
        ox_stats_put(&found, text);
    } else {
        ox_print_tensor(text, tensor);
    }
    ox_text_put(text, "\n");
}

static void put_indented(ox_text *text, const char *lines, int indent) {
    for (const char *end; *lines; lines = end) {
        end = lines + strcspn(lines, "\n");
        end += *end == '\n';
        ox_text_repeat(text, ' ', indent);
        ox_text_add(text, lines, (size_t)(end - lines));
    }
}

/* A tensor in a value: a single element stays on the line. */
static void put_tensor(ox_text *text, const ox_tensor *tensor, bool stats, int indent) {
    ox_text lines = {0};
    const bool inline_element = !tensor->rank && !stats;
    put_elements(&lines, tensor, stats);
    if (!inline_element)
        put_type(text, tensor);
    put_indented(text, ox_text_get(&lines), inline_element ? 0 : indent);
    ox_text_free(&lines);
}

static void put_value(ox_text *text, const ox_value *value, bool stats, int indent);

/* "0: " or "'key': ", and the item. */
static void put_item(ox_text *text, const ox_value *value, size_t i, bool stats, int indent) {
    const ox_tensor *keys = ox_value_keys(value);
    ox_text_repeat(text, ' ', indent);
    if (keys)
        ox_print_element(text, keys->dtype, key_at(keys, i));
    else if (ox_value_kind(value) == OX_KIND_SEQUENCE)
        ox_text_format(text, "%zu", i);
    ox_text_put(text, ox_value_kind(value) == OX_KIND_OPTIONAL ? "" : ": ");
    put_value(text, ox_value_item(value, i), stats, indent + INDENT);
}

static void put_value(ox_text *text, const ox_value *value, bool stats, int indent) {
    char type[OX_TYPE_TEXT];
    const size_t count = ox_value_count(value);
    if (ox_value_tensor(value)) {
        put_tensor(text, ox_value_tensor(value), stats, indent);
        return;
    }
    ox_text_put(text, ox_value_type(value, type));
    if (ox_value_kind(value) == OX_KIND_OPTIONAL)
        ox_text_put(text, count ? "\n" : ", none\n");
    else
        ox_text_format(text, ", %zu item%s\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        if (count > MOST_ITEMS && i == SHOWN_ITEMS) {
            put_indented(text, "...\n", indent);
            i = count - SHOWN_ITEMS;
        }
        put_item(text, value, i, stats, indent);
    }
}

void ox_datum_text(ox_text *text, const char *name, const ox_datum *datum, ox_manner manner) {
    ox_text_escape(text, name, strlen(name), NULL);
    ox_text_put(text, ": ");
    if (datum->value) {
        put_value(text, datum->value, manner.stats, INDENT);
        return;
    }
    put_type(text, &datum->tensor);
    if (shows_top(manner, &datum->tensor))
        ox_top_put(manner.top, &datum->tensor, text);
    else
        put_elements(text, &datum->tensor, manner.stats);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_json_tensor(ox_text *text, const ox_tensor *tensor, ox_manner manner) {
    ox_text_format(text, "\"dtype\": \"%s\", \"shape\": ", ox_dtype_name(tensor->dtype));
    ox_json_dims(text, tensor->rank, tensor->dims);
    if (shows_top(manner, tensor)) {
        ox_text_put(text, ", \"top\": ");
        ox_top_json(manner.top, tensor, text);
    } else if (manner.stats) {
        ox_stats found = ox_stats_of(tensor);
        ox_text_put(text, ", \"stats\": ");
        ox_stats_json(&found, text);
    } else {
        ox_text_put(text, ", \"values\": ");
        ox_json_values(text, tensor);
    }
}

static void put_json_value(ox_text *text, const ox_value *value, bool stats);

static void put_json_item(ox_text *text, const ox_value *item, bool stats) {
    ox_text_put(text, "{");
    if (ox_value_tensor(item))
        put_json_tensor(text, ox_value_tensor(item), (ox_manner){.stats = stats});
    else
        put_json_value(text, item, stats);
    ox_text_put(text, "}");
}

static void put_json_value(ox_text *text, const ox_value *value, bool stats) {
    char type[OX_TYPE_TEXT];
    const size_t count = ox_value_count(value);
    ox_text_format(text, "\"type\": \"%s\"", ox_value_type(value, type));
    if (ox_value_kind(value) == OX_KIND_OPTIONAL) {
        ox_text_put(text, count ? ", \"item\": " : ", \"item\": null");
        if (count)
            put_json_item(text, ox_value_item(value, 0), stats);
        return;
    }
    if (ox_value_keys(value)) {
        ox_text_put(text, ", \"keys\": ");
        ox_json_values(text, ox_value_keys(value));
    }
    ox_text_put(text, ox_value_keys(value) ? ", \"values\": [" : ", \"items\": [");
    for (size_t i = 0; i < count; i++) {
        ox_text_put(text, i ? ", " : "");
        put_json_item(text, ox_value_item(value, i), stats);
    }
    ox_text_put(text, "]");
}

void ox_datum_json(ox_text *text, const char *name, const ox_datum *datum, ox_manner manner) {
    ox_text_put(text, "{\"name\": ");
    ox_text_json(text, name);
    ox_text_put(text, ", ");
    if (datum->value)
        put_json_value(text, datum->value, manner.stats);
    else
        put_json_tensor(text, &datum->tensor, manner);
    ox_text_put(text, "}");
}
