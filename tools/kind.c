/* kind.c: what files of other kinds are, and what to do with them. */
#include "kind.h"

#include <stdio.h>
#include <string.h>

#include "system.h"
#include "text.h"
#include "tool.h"

#define UNPACK "unpack it first"
#define EXPORT_TORCH "export it in Python with torch.onnx.export(model, inputs, \"model.onnx\")"
#define GIVE "give it as an input, with -i"

enum {
    LOOKED_AT = 4096 /* bytes of a file */
};

typedef struct signature {
    size_t offset;
    const char *bytes;
    ox_file_kind kind;
} signature;

/* Files that begin with bytes of their own. */
static const signature signatures[] = {
    {0, "\x93NUMPY", {"a numpy array (.npy)", GIVE}},
    {0, "\x1f\x8b", {"a gzip file", UNPACK " (gunzip -c FILE | ox run -)"}},
    {0,
     "\xfd"
     "7zXZ",
     {"an xz file", UNPACK " (xz -dc FILE | ox run -)"}},
    {0, "BZh", {"a bzip2 file", UNPACK " (bzip2 -dc FILE | ox run -)"}},
    {0, "\x28\xb5\x2f\xfd", {"a Zstandard file", UNPACK " (zstd -dc FILE | ox run -)"}},
    {4,
     "TFL3",
     {"a TensorFlow Lite model", "convert it (python -m tf2onnx.convert --tflite FILE --output model.onnx)"}},
    {4, "ORTM", {"a model in ONNX Runtime's own format (.ort)", "take the .onnx file that it was made from"}},
    {0, "GGUF", {"a GGUF file", "it holds weights for llama.cpp; export the model that they belong to as ONNX"}},
    {0,
     "\x89HDF\r\n\x1a\n",
     {"an HDF5 file, as Keras writes", "load it in Python and convert it with tf2onnx.convert.from_keras"}},
    {0, "\x89PNG", {"a picture", GIVE}},
    {0, "\xff\xd8\xff", {"a picture (JPEG)", GIVE}},
    {8, "WEBP", {"a picture (WebP)", GIVE}},
    {0, "II*", {"a picture (TIFF)", GIVE}},
    {4, "jP  \r\n", {"a picture (JPEG 2000)", GIVE}},
    {0,
     "\x7f"
     "ELF",
     {"a program or a library", "a library with operators is given with --plugin"}},
    {0,
     "version https://git-lfs",
     {"a pointer to a file that Git LFS keeps elsewhere", "fetch that with git lfs pull"}},
};

/* Archives, by the names of their members. */
static const signature archives[] = {
    {0, "/data.pkl", {"a PyTorch checkpoint (.pt)", EXPORT_TORCH}},
    {0, "constants.pkl", {"a PyTorch checkpoint (.pt)", EXPORT_TORCH}},
    {0, ".npy", {"an archive of numpy arrays (.npz)", GIVE}},
    {0,
     "config.json",
     {"a Keras model (.keras)", "load it in Python and call model.export(\"model.onnx\", format=\"onnx\")"}},
    {0, "PK", {"a zip archive", UNPACK}},
};

/* Texts, by how they begin, whatever the case of letters. */
static const signature texts[] = {
    {0, "<!doctype", {"a web page", "the download gave that in place of the file"}},
    {0, "<html", {"a web page", "the download gave that in place of the file"}},
    {0, "<?xml", {"XML, as OpenVINO writes", "take the .onnx file that it was made from"}},
    {0, "{", {"JSON", "if it is a model: onnx.save(onnx.load(\"FILE\", format=\"json\"), \"model.onnx\") in Python"}},
    {0,
     "<",
     {"a model as text (ONNX's syntax)",
      "make it binary: onnx.save(onnx.load(\"FILE\", format=\"onnxtxt\"), \"model.onnx\") in Python"}},
};

static const ox_file_kind unknown,
    empty = {"an empty file", "copy or download it again"},
    safetensors = {"a safetensors file", "it holds weights without a graph; export the model that they belong to "
                                         "as ONNX"},
    plain_text = {"a text file", "a model is binary; give the .onnx file"},
    pickle = {"a Python pickle, as older PyTorch writes", EXPORT_TORCH},
    textproto = {"a model as text (protobuf's text format)",
                 "make it binary: onnx.save(onnx.load(\"FILE\", format=\"textproto\"), "
                 "\"model.onnx\") in Python"};

static bool begins(const unsigned char *bytes, size_t size, const char *with) {
    size_t length = strlen(with);
    return size >= length && memcmp(bytes, with, length) == 0;
}

static bool contains(const unsigned char *bytes, size_t size, const char *text) {
    for (; size >= strlen(text); bytes++, size--)
        if (begins(bytes, size, text))
            return true;
    return false;
}

static const ox_file_kind *kind_of_archive(const unsigned char *bytes, size_t size) {
    size_t last = sizeof archives / sizeof *archives - 1, i = 0;
    while (i < last && !contains(bytes, size < LOOKED_AT ? size : LOOKED_AT, archives[i].bytes))
        i++;
    return &archives[i].kind;
}

/* The fields that a model as text may begin with. */
static bool is_textproto(const char *text, size_t size) {
    static const char *const fields[] = {"ir_version", "opset_import", "producer_name", "model_version", "graph"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i]);
        if (size > length && memcmp(text, fields[i], length) == 0 && strchr(": {\n", text[length]) && text[length])
            return true;
    }
    return false;
}

/* Letters, and no control characters but those of lines. */
static bool is_text(const unsigned char *bytes, size_t size) {
    const size_t end = size < LOOKED_AT ? size : LOOKED_AT - 4; /* a last letter may be cut */
    for (size_t i = 0, length; i < end; i += length) {
        uint32_t code;
        if (!(length = ox_utf8_read((const char *)bytes + i, size - i, &code)))
            return false;
        if (code == 0x7f || (code < ' ' && !strchr("\t\n\r\f", (int)code)) || !code)
            return false;
    }
    return true;
}

static const ox_file_kind *kind_of_text(const unsigned char *bytes, size_t size) {
    const char *text = (const char *)bytes, *end = text + size;
    while (text < end && *text && strchr(" \t\r\n#", *text)) {
        bool is_comment = *text++ == '#';
        while (is_comment && text < end && *text != '\n')
            text++;
    }
    size_t left = (size_t)(end - text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t length = strlen(texts[i].bytes);
        if (left >= length && ox_text_alike(text, texts[i].bytes, length))
            return &texts[i].kind;
    }
    return is_textproto(text, left) ? &textproto : is_text(bytes, size) ? &plain_text : &unknown;
}

const ox_file_kind *ox_kind_of(const unsigned char *bytes, size_t size) {
    if (!size)
        return &empty;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];
        if (size > s->offset && begins(bytes + s->offset, size - s->offset, s->bytes))
            return &s->kind;
    }
    if (begins(bytes, size, "PK"))
        return kind_of_archive(bytes, size);
    if (size > 8 && bytes[8] == '{' && !bytes[5] && !bytes[6] && !bytes[7]) /* a length of 8 bytes, then JSON */
        return &safetensors;
    if (size > 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) /* a version of the protocol */
        return &pickle;
    return kind_of_text(bytes, size);
}

const char *ox_kind_ending(const ox_file_kind *kind) {
    const size_t length = kind->name ? strlen(kind->name) : 0;
    if (kind == &plain_text)
        return ".csv";
    return length > 6 && strcmp(kind->name + length - 6, "(.npz)") == 0 ? ".npz" : NULL;
}

/* Puts the file's name in place of FILE. */
static void explain(const char *path, const ox_file_kind *kind, ox_error *error) {
    const char *hole = strstr(kind->as_model, "FILE");
    int before = (int)(hole ? hole - kind->as_model : 0);
    ox_tool_fail(error, error->status, "%s: this is %s, not an ONNX model: %.*s%s%s", path, kind->name, before,
                 kind->as_model, hole ? path : "", hole ? hole + 4 : kind->as_model);
}

void ox_kind_explain_bytes(const char *name, const unsigned char *bytes, size_t size, ox_error *error) {
    const ox_file_kind *kind = ox_kind_of(bytes, size);
    if (kind->name && error->status == OX_ERROR_MODEL)
        explain(name, kind, error);
}

static void explain_folder(const char *path, ox_error *error) {
    ox_text text = {0};
    ox_file_info info;
    ox_text_format(&text, "%s/saved_model.pb", path);
    if (ox_system_look(text.data, &info))
        ox_tool_fail(error, error->status,
                     "%s: this is a TensorFlow SavedModel, not an ONNX model: convert it (python -m tf2onnx.convert "
                     "--saved-model %s --output model.onnx)",
                     path, path);
    else
        ox_tool_fail(error, error->status, "%s: this is a folder: give the .onnx file in it", path);
    ox_text_free(&text);
}

void ox_kind_explain(const char *path, ox_error *error) {
    unsigned char bytes[LOOKED_AT];
    ox_file_info info;
    if (!ox_system_look(path, &info))
        return;
    if (info.is_folder)
        explain_folder(path, error);
    FILE *file = info.is_file ? ox_system_open(path, "rb") : NULL;
    if (!file)
        return;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    bool read = !ferror(file);
    fclose(file);
    if (read)
        ox_kind_explain_bytes(path, bytes, size, error);
}
