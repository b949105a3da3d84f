/* image_plugin.c: pictures that the plug-in image.so reads, by a model of one node ImageDecoder. */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "memory.h"
#include "plugin.h"
#include "tool.h"

static const struct {
    size_t offset;
    const char *bytes;
    size_t size;
    const char *name;
} kinds[] = {{0, "\xff\xd8\xff", 3, "a JPEG"}, {8, "WEBP", 4, "a WebP"},  {0, "BM", 2, "a BMP"},
             {0, "II*\0", 4, "a TIFF"},        {0, "MM\0*", 4, "a TIFF"}, {4, "jP  \r\n", 6, "a JPEG 2000"}};

const char *ox_image_foreign(const unsigned char *bytes, size_t size) {
    enum {
        LEAST = 16 /* bytes of a picture */
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && size >= LEAST; i++)
        if (memcmp(bytes + kinds[i].offset, kinds[i].bytes, kinds[i].size) == 0)
            return kinds[i].name;
    return NULL;
}

/* A ModelProto: IR version 10, opset 20, ImageDecoder of the bytes b [n] to the picture p, in RGB. */
static const unsigned char decoder[] = "\x08\x0a\x42\x02\x10\x14\x3a\x36"
                                       "\x0a\x14\x0a\x01"
                                       "b\x12\x01"
                                       "p\x22\x0cImageDecoder"
                                       "\x12\x01g"
                                       "\x5a\x10\x0a\x01"
                                       "b\x12\x0b\x0a\x09\x08\x02\x12\x05\x0a\x03\x12\x01n"
                                       "\x62\x09\x0a\x01p\x12\x04\x0a\x02\x08\x02";

static ox_status copy_samples(const ox_tensor *picture, ox_image *image, ox_error *error) {
    const size_t count = (size_t)ox_tensor_count(picture);
    if (picture->rank != 3 || picture->dims[2] != 3 || picture->dtype != OX_UINT8 || !ox_tensor_is_packed(picture))
        return ox_tool_fail(error, OX_ERROR_FILE, "the plug-in gives no picture of three colours");
    if (!count) /* what the operator gives for bytes that it cannot read */
        return ox_tool_fail(error, OX_ERROR_FILE, "the picture is broken");
    if (picture->dims[0] * picture->dims[1] > OX_IMAGE_PIXELS)
        return ox_tool_fail(error, OX_ERROR_LIMIT, "the picture has too many pixels");
    *image = (ox_image){picture->dims[1], picture->dims[0], 3, ox_tool_alloc(count)};
    memcpy(image->samples, picture->data, count);
    return OX_OK;
}

static ox_status decode(ox_session *session, const unsigned char *bytes, size_t size, ox_image *image,
                        ox_error *error) {
    const int64_t dims[] = {(int64_t)size};
    const ox_tensor file = {.dtype = OX_UINT8, .rank = 1, .dims = dims, .data = (void *)(uintptr_t)bytes};
    ox_tensor picture;
    ox_status status = ox_session_set_input(session, 0, &file, error);
    if (!status)
        status = ox_session_run(session, error);
    if (!status)
        status = ox_session_output(session, 0, &picture, error);
    return status ? status : copy_samples(&picture, image, error);
}

ox_status ox_image_decode(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error) {
    ox_plugins plugins = {0};
    ox_model *model = NULL;
    ox_session *session = NULL;
    *image = (ox_image){0};
    ox_plugins_add_own(&plugins);
    ox_status status = ox_model_load_memory(decoder, sizeof decoder - 1, &plugins.options, &model, error);
    if (status == OX_ERROR_UNSUPPORTED) {
        ox_tool_fail(error, status, "this is %s, which ox reads by a plug-in", ox_image_foreign(bytes, size));
        ox_plugins_remedy_image(error);
    }
    if (!status)
        status = ox_session_create(model, NULL, &session, error);
    if (!status)
        status = decode(session, bytes, size, image, error);
    ox_session_free(session);
    ox_model_free(model);
    ox_plugins_free(&plugins);
    return status;
}
