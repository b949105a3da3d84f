/* test.cpp: everything in ox.hpp is called, right and wrong. Runs in the root of the tree; prints what fails, and
 * counts. */
#include "ox.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#if __cplusplus >= 202002L
#include <span>
#endif

static int passed, failed;

static void expect(bool holds, int line, const char *what) {
    passed += holds;
    failed += !holds;
    if (!holds)
        std::printf("line %d: %s\n", line, what);
}
#define EXPECT(condition) expect(condition, __LINE__, #condition)

/* Whether the error has this status, and this in its text. */
static bool is(const ox::error &error, ox_status status, const char *text) {
    const bool right = error.status() == status && std::string(error.what()).find(text) != std::string::npos;
    if (!right)
        std::printf("status %d: %s\n", error.status(), error.what());
    return right;
}

#if defined(__cpp_exceptions)
#define EXPECT_ERROR(wanted, text, ...)                                                                                \
    do {                                                                                                               \
        try {                                                                                                          \
            (void)(__VA_ARGS__);                                                                                       \
            expect(false, __LINE__, "nothing is thrown by " #__VA_ARGS__);                                             \
        } catch (const ox::error &error) {                                                                             \
            expect(is(error, wanted, text), __LINE__, #__VA_ARGS__);                                                   \
        }                                                                                                              \
    } while (0)
#else
#define EXPECT_ERROR(wanted, text, ...) (void)0
#endif

/* ---- Models, as bytes ---------------------------------------------------------------------------------------- */

static std::string field(int number, const std::string &bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
static std::string number(int number, int value) {
    return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/* A type: a tensor of floats of unknown shape, or something of such tensors (field 4: sequence, 9: optional). */
static std::string type(int of) {
    const std::string floats = field(1, number(1, OX_FLOAT));
    return of == 1 ? floats : field(of, field(1, floats));
}

/* A model of one node, from x to y. */
static std::string model_of(const char *op, const std::string &in, const std::string &out) {
    const std::string graph = field(1, field(1, "x") + field(2, "y") + field(4, op)) + field(2, "g") +
                              field(11, field(1, "x") + field(2, in)) + field(12, field(1, "y") + field(2, out));
    return number(1, 8) + field(8, number(2, 17)) + field(7, graph);
}

static ox::span<const unsigned char> bytes_of(const std::string &text) {
    return {reinterpret_cast<const unsigned char *>(text.data()), text.size()};
}

/* ---- Tests ------------------------------------------------------------------------------------------------------ */

static const char *const digits = "examples/digits/model.onnx";

static void test_run() {
    std::vector<float> image(64);
    for (std::size_t i = 0; i < image.size(); i++)
        image[i] = static_cast<float>(i);
    ox::options options;
    options.threads = 2;
    ox::session session(ox::model::load(digits), options); // the model is the session's alone
    EXPECT(session.model().inputs().size() == 1 && session.model().outputs().size() == 1);
    const std::string input = session.model().inputs()[0].name, output = session.model().outputs()[0].name;
    session.set(input, image, {1, 1, 8, 8});
    session.prepare();
    EXPECT(session.memory().arena_bytes > 0);
    session.run();
    const ox::span<const float> scores = session.output(0).data<float>();
    EXPECT(scores.size() == 10 && session.output(output).rank() == 2);
    float sum = 0;
    for (const float score : scores)
        sum += score;
    EXPECT(std::fabs(sum - 1) < 1e-5F);
    // The same by C.
    ox_model *model = nullptr;
    ox_session *plain = nullptr;
    ox_error error;
    ox_tensor out;
    const std::array<std::int64_t, 4> dims = {1, 1, 8, 8};
    const ox::tensor_view view(ox::span<const float>(image), dims);
    EXPECT(!ox_model_load_file(digits, nullptr, &model, &error) && !ox_session_create(model, nullptr, &plain, &error));
    EXPECT(!ox_session_set_input(plain, 0, &view.c(), &error) && !ox_session_run(plain, &error));
    EXPECT(!ox_session_output(plain, 0, &out, &error) && !std::memcmp(out.data, scores.data(), 10 * sizeof(float)));
    ox_session_free(plain);
    ox_model_free(model);
    // Moves, and inputs of other kinds.
    const std::vector<float> before = session.output(0).to_vector<float>();
    ox::session moved(std::move(session));
    moved.set(0, ox::tensor_view(ox::span<const float>(image), dims));
    moved.run();
    EXPECT(moved.output(output).to_vector<float>() == before);
    ox::session other(ox::model::load(digits));
    other = std::move(moved);
    const ox::tensor tensor(image, {1, 1, 8, 8});
    other.set(input.c_str(), tensor);
    other.run();
    EXPECT(other.output(0).to_vector<float>() == before);
    float array[64] = {};
    other.set(0, array, dims);
    other.run();
    EXPECT(other.output(0).to_vector<float>() != before);
    other.unset(0);
    const ox::result<void> unset = other.try_run();
    EXPECT(!unset && is(unset.error(), OX_ERROR_ARGUMENT, input.c_str()));
}

static void test_errors() {
    const ox::result<ox::model> missing = ox::model::try_load("there/is/none.onnx");
    EXPECT(!missing && is(missing.error(), OX_ERROR_FILE, "there/is/none.onnx"));
    EXPECT_ERROR(OX_ERROR_FILE, "none.onnx", ox::model::load("there/is/none.onnx"));
    EXPECT_ERROR(OX_ERROR_FILE, "none.onnx", missing.value());
    ox::options wrong;
    wrong.threads = -1;
    const ox::model model = ox::model::load(digits);
    const ox::result<ox::session> none = ox::session::try_create(model, wrong);
    EXPECT(!none && is(none.error(), OX_ERROR_ARGUMENT, "threads"));
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "threads", ox::session(model, wrong));
    ox::result<ox::session> session = ox::session::try_create(model);
    EXPECT(session && session->model().c() == model.c());
    const std::vector<float> image(72);
    const std::array<std::int64_t, 4> dims = {1, 1, 9, 8};
    const ox::tensor_view view(ox::span<const float>(image), dims);
    const ox::result<void> shape = session->try_set(0, view);
    EXPECT(!shape && is(shape.error(), OX_ERROR_SHAPE, "[1,1,9,8]"));
    const ox::result<void> name = session->try_set("picture", view);
    EXPECT(!name && is(name.error(), OX_ERROR_ARGUMENT, "no input 'picture'"));
    const ox::result<void> place = session->try_set(7, view);
    EXPECT(!place && place.error().status() == OX_ERROR_ARGUMENT);
    const ox::result<ox::tensor_view> early = session->try_output(0);
    EXPECT(!early && early.error().status() == OX_ERROR_ARGUMENT);
    EXPECT(!session->try_output("scores of nobody") && !session->try_output_value(3));
    EXPECT_ERROR(OX_ERROR_SHAPE, "[1,1,9,8]", session->set(0, image, {1, 1, 9, 8}));
    EXPECT_ERROR(OX_ERROR_SHAPE, "72 values for dims of 64", session->set(0, image, {1, 1, 8, 8}));
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "", session->run());
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no output 'y'", session->output("y"));
}

static void test_tensors() {
    const ox::tensor numbers({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3});
    EXPECT(numbers.dtype() == OX_FLOAT && numbers.dims().size() == 2 && numbers.data<float>()[5] == 6);
    // A view on its transpose.
    ox_tensor turned = numbers.view().c();
    const std::int64_t dims[] = {3, 2}, strides[] = {4, 12};
    turned.dims = dims;
    turned.strides = strides;
    const ox::tensor_view view(turned);
    EXPECT(!view.is_packed() && view.count() == 6 && view.dims()[0] == 3);
    EXPECT(view.to_vector<float>() == (std::vector<float>{1, 4, 2, 5, 3, 6}));
    const ox::tensor packed(view);
    EXPECT(packed.view().is_packed() && packed.view().to_vector<float>() == view.to_vector<float>());
    ox::tensor copied = packed;
    copied.data<float>()[0] = 9;
    EXPECT(packed.data<float>()[0] == 1 && copied.data<float>()[0] == 9);
    copied = numbers;
    EXPECT(copied.dims()[1] == 3 && copied.data<float>()[0] == 1);
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "not packed", view.data<float>());
    EXPECT_ERROR(OX_ERROR_SHAPE, "the elements are float, not double", view.data<double>());
    EXPECT_ERROR(OX_ERROR_SHAPE, "the elements are float, not int64", view.to_vector<std::int64_t>());
    EXPECT_ERROR(OX_ERROR_SHAPE, "2 values for dims of 3", ox::tensor({1.0, 2.0}, {3}));
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no tensor has", ox::tensor(OX_FLOAT, {-1}));
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no tensor has", ox::tensor(OX_FLOAT, {std::numeric_limits<std::int64_t>::max()}));
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no tensor has", ox::tensor(OX_UNDEFINED, {1}));
    alignas(float) unsigned char room[9] = {};
    ox_tensor odd = numbers.view().c();
    odd.rank = 0;
    odd.data = room + 1;
    EXPECT(ox::tensor_view(odd).to_vector<float>().size() == 1);
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "not aligned", ox::tensor_view(odd).data<float>());
    EXPECT(ox::tensor_view().count() == 1 && ox::tensor(OX_DOUBLE, {0, 4}).data<double>().empty());
    EXPECT(ox::tensor(OX_INT64, {}).data<std::int64_t>().size() == 1);
    EXPECT(ox::tensor(std::vector<ox::float16>{{0x3C00}}, {1}).dtype() == OX_FLOAT16);
    EXPECT(static_cast<float>(ox::float16{0xC000}) == -2 && static_cast<float>(ox::bfloat16{0x3F80}) == 1);
    const bool flags[] = {true, false};
    EXPECT(ox::tensor(ox::span<const bool>(flags), {2}).view().to_vector<bool>() == (std::vector<bool>{true, false}));
    const std::string proto = number(1, 2) + number(2, OX_UINT8) + field(9, "ab");
    EXPECT(ox::tensor::from_proto(bytes_of(proto)).view().to_vector<std::uint8_t>() ==
           (std::vector<std::uint8_t>{97, 98}));
    EXPECT(!ox::tensor::try_from_proto(bytes_of(proto.substr(0, 5))));
}

static void test_strings() {
    ox::tensor texts = ox::tensor::strings({"one", std::string("t\0o", 3), ""}, {3});
    const ox::tensor copied = texts;
    texts = ox::tensor::strings({"x"}, {});
    EXPECT(copied.view().to_strings() == (std::vector<std::string>{"one", std::string("t\0o", 3), ""}));
    EXPECT(texts.view().to_strings() == std::vector<std::string>{"x"} && texts.dims().empty());
    const std::string model = model_of("Identity", field(1, number(1, OX_STRING)), field(1, number(1, OX_STRING)));
    ox::session session(ox::model::load(bytes_of(model)));
    session.set("x", copied);
    session.run();
    EXPECT(session.output("y").to_strings() == copied.view().to_strings());
    const ox::tensor empty(OX_STRING, {2});
    EXPECT(empty.view().to_strings() == (std::vector<std::string>{"", ""}));
}

static void test_values() {
    const ox::tensor ones({1.0F, 2.0F}, {2}), more({3.0F}, {1});
    const ox::value first = ox::value::of(ones), second = ox::value::of(more);
    const ox::value both = ox::value::sequence({first, second});
    EXPECT(both.view().kind() == OX_KIND_SEQUENCE && both.view().type() == "seq(tensor(float))" &&
           both.view().size() == 2);
    EXPECT(both.view()[1].tensor().data<float>()[0] == 3);
    EXPECT(ox::value::optional().view().size() == 0 && ox::value::optional(first).view().size() == 1);
    const ox::value map = ox::value::map(ox::tensor(std::vector<std::int64_t>{5, 7}, {2}), {first, second});
    EXPECT(map.view().keys().data<std::int64_t>()[1] == 7);
    const ox::result<ox::value> mixed = ox::value::try_of(OX_KIND_SEQUENCE, {first, both});
    EXPECT(!mixed && mixed.error().status() != OX_OK);
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no tensor, but seq", both.view().tensor());
    EXPECT_ERROR(OX_ERROR_ARGUMENT, "no map, but seq", both.view().keys());
    const std::string model = model_of("Identity", type(4), type(4));
    ox::session session(ox::model::load(bytes_of(model)));
    session.set("x", both);
    session.run();
    const ox::value_view out = session.output_value("y");
    EXPECT(out && out.size() == 2 && out[0].tensor().to_vector<float>() == (std::vector<float>{1, 2}));
    EXPECT(!session.try_set("x", first) || !session.try_run());
}

static void test_models() {
    const std::string unknown = model_of("NoSuchOperator", type(1), type(1));
    const ox::result<ox::model> refused = ox::model::try_load(bytes_of(unknown));
    EXPECT(!refused && is(refused.error(), OX_ERROR_UNSUPPORTED, "NoSuchOperator"));
    ox::model model = ox::model::load_for_info(digits), same = model;
    EXPECT(same.c() == model.c() && model.info().node_count > 0 && model.info().parameter_count > 0);
    EXPECT(model.find_input("image") == std::optional<std::size_t>(0) && !model.find_input("picture"));
    EXPECT(!model.find_output("picture") && model.find_output(model.outputs()[0].name));
#if __cplusplus >= 202002L
    const std::vector<int> numbers = {1, 2};
    const std::span<const int> there = ox::span<const int>(numbers);
    EXPECT(ox::span<const int>(there).data() == numbers.data());
#endif
}

static void test_callbacks() {
    const std::string text = model_of("Exp", type(1), type(1));
    const ox::model model = ox::model::load(bytes_of(text));
    ox::options options;
    const char *const extra[] = {"x"};
    options.extra_outputs = extra;
    options.extra_output_count = 1;
    ox::session session(model, options);
    const ox::tensor x({0.0F, 0.0F}, {2});
    session.set(0, x);
    int steps = 0;
    session.on_step([&steps](const ox_profile_event &) { steps++; });
    alignas(64) float memory[16] = {};
    session.into([&memory](std::size_t index, const ox::tensor_view &output, std::size_t bytes) -> void * {
        EXPECT(index < 2 && output.count() == 2 && bytes == 8);
        return index == 0 ? memory : nullptr;
    });
    ox::session moved(std::move(session)); // its functions go with it
    moved.run();
    EXPECT(steps == 1 && memory[0] == 1 && memory[1] == 1 && moved.output("y").data<float>().data() == memory);
    EXPECT(moved.output("x").data<float>()[0] == 0);
    moved.on_step({});
    moved.into({});
    moved.run();
    EXPECT(steps == 1 && moved.output("y").data<float>().data() != memory);
#if defined(__cpp_exceptions)
    moved.on_step([](const ox_profile_event &) { throw std::logic_error("mine"); });
    try {
        moved.run();
        expect(false, __LINE__, "nothing is thrown");
    } catch (const std::logic_error &error) {
        EXPECT(std::string(error.what()) == "mine");
    }
    moved.on_step({});
    moved.run();
    EXPECT(moved.output("y").data<float>()[0] == 1);
#endif
}

int main() {
    test_run();
    test_errors();
    test_tensors();
    test_strings();
    test_values();
    test_models();
    test_callbacks();
    std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
