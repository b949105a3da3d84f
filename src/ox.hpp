/* ox.hpp: a header-only wrapper of ox.h for C++17 and later: models, sessions, tensors and values that free their
 * resources, spans, and errors as exceptions or as results.
 *
 *     ox::session session(ox::model::load("model.onnx"));
 *     session.set("image", pixels, {1, 1, 8, 8});
 *     session.run();
 *     for (float probability : session.output("scores").data<float>()) ...
 *
 * A function whose name begins with try_ returns an ox::result, which holds the value or an ox::error, and never throws
 * an ox::error; the same function without try_ throws it. With -fno-exceptions the latter ends the process.
 *
 * The rules of ox.h on threads and lifetimes apply here, too, except that a session keeps its model alive. Objects can
 * be moved; a copy of a model shares it. c() returns the handle that functions of ox.h take.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef OX_HPP
#define OX_HPP

#include "ox.h"

#include <cassert>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ox {

/* ---- Errors ------------------------------------------------------------------------------------------------- */

/* An error: what() names file, node, tensor and the values that disagree. */
class error : public std::runtime_error {
  public:
    explicit error(const ox_error &from) : std::runtime_error(from.text), status_(from.status) {}
    error(ox_status status, const std::string &text) : std::runtime_error(text), status_(status) {}

    ox_status status() const noexcept { return status_; }

  private:
    ox_status status_;
};

namespace detail {

[[noreturn]] inline void raise(const error &what) {
#if defined(__cpp_exceptions)
    throw what;
#else
    (void)what;
    std::terminate();
#endif
}

[[noreturn]] inline void raise(ox_status status, const std::string &text) {
    raise(error(status, text));
}

} // namespace detail

/* A T, or the error in its place. */
template <class T> class [[nodiscard]] result {
  public:
    result(T value) : value_(std::move(value)) {}
    result(ox::error why) : error_(std::move(why)) {}

    explicit operator bool() const noexcept { return value_.has_value(); }

    /* The T; throws the error if there is one. */
    T &value() & { return value_ ? *value_ : (detail::raise(*error_), *value_); }
    const T &value() const & { return value_ ? *value_ : (detail::raise(*error_), *value_); }
    T &&value() && { return std::move(value()); }

    T &operator*() & { return value(); }
    T *operator->() { return &value(); }

    /* The error; call it only on a result without a T. */
    const ox::error &error() const {
        assert(error_);
        return *error_;
    }

  private:
    std::optional<T> value_;
    std::optional<ox::error> error_;
};

/* Success, or an error. */
template <> class [[nodiscard]] result<void> {
  public:
    result() = default;
    result(ox::error why) : error_(std::move(why)) {}

    explicit operator bool() const noexcept { return !error_; }

    void value() const {
        if (error_)
            detail::raise(*error_);
    }

    const ox::error &error() const {
        assert(error_);
        return *error_;
    }

  private:
    std::optional<ox::error> error_;
};

namespace detail {

/* Calls a function of ox.h whose last argument is the error. */
template <class F, class... Arguments> result<void> call(F function, Arguments... arguments) {
    ox_error what;
    return function(arguments..., &what) == OX_OK ? result<void>() : result<void>(error(what));
}

} // namespace detail

/* ---- Spans -------------------------------------------------------------------------------------------------- */

/* `size` elements from `data` on, not owned. Vectors, arrays, std::span and every other type with data() and size()
 * convert to it; it converts to std::span. */
template <class T> class span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <class C,
              class = std::enable_if_t<
                  std::is_convertible_v<std::remove_pointer_t<decltype(std::declval<C &>().data())> (*)[], T (*)[]>>,
              class = decltype(std::declval<C &>().size())>
    constexpr span(C &&from) noexcept : data_(from.data()), size_(from.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const {
        assert(index < size_);
        return data_[index];
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* ---- Element types ------------------------------------------------------------------------------------------ */

/* Floats of 16 bits, by their bits. */
struct float16 {
    std::uint16_t bits;
    explicit operator float() const noexcept { return ox_float_from_bits(OX_FLOAT16, bits); }
};

struct bfloat16 {
    std::uint16_t bits;
    explicit operator float() const noexcept { return ox_float_from_bits(OX_BFLOAT16, bits); }
};

/* The element type of a C++ type. */
template <class T> struct dtype_of;
template <> struct dtype_of<float> : std::integral_constant<ox_dtype, OX_FLOAT> {};
template <> struct dtype_of<double> : std::integral_constant<ox_dtype, OX_DOUBLE> {};
template <> struct dtype_of<float16> : std::integral_constant<ox_dtype, OX_FLOAT16> {};
template <> struct dtype_of<bfloat16> : std::integral_constant<ox_dtype, OX_BFLOAT16> {};
template <> struct dtype_of<std::int8_t> : std::integral_constant<ox_dtype, OX_INT8> {};
template <> struct dtype_of<std::int16_t> : std::integral_constant<ox_dtype, OX_INT16> {};
template <> struct dtype_of<std::int32_t> : std::integral_constant<ox_dtype, OX_INT32> {};
template <> struct dtype_of<std::int64_t> : std::integral_constant<ox_dtype, OX_INT64> {};
template <> struct dtype_of<std::uint8_t> : std::integral_constant<ox_dtype, OX_UINT8> {};
template <> struct dtype_of<std::uint16_t> : std::integral_constant<ox_dtype, OX_UINT16> {};
template <> struct dtype_of<std::uint32_t> : std::integral_constant<ox_dtype, OX_UINT32> {};
template <> struct dtype_of<std::uint64_t> : std::integral_constant<ox_dtype, OX_UINT64> {};
template <> struct dtype_of<bool> : std::integral_constant<ox_dtype, OX_BOOL> {};
template <> struct dtype_of<std::complex<float>> : std::integral_constant<ox_dtype, OX_COMPLEX64> {};
template <> struct dtype_of<std::complex<double>> : std::integral_constant<ox_dtype, OX_COMPLEX128> {};
template <> struct dtype_of<ox_string> : std::integral_constant<ox_dtype, OX_STRING> {};

static_assert(sizeof(bool) == 1, "a bool of ox.h is a byte");

/* ---- Tensors ------------------------------------------------------------------------------------------------ */

namespace detail {

/* Calls `visit` with the address of each element, in row-major order. */
template <class F> void each(const ox_tensor &tensor, F visit) {
    std::vector<std::int64_t> strides(static_cast<std::size_t>(tensor.rank)), at(strides.size());
    ox_tensor_strides(&tensor, strides.data());
    const char *element = static_cast<const char *>(tensor.data);
    for (std::int64_t left = ox_tensor_count(&tensor); left > 0; left--) {
        visit(element);
        for (std::size_t axis = at.size(); axis-- > 0;) {
            element += strides[axis];
            if (++at[axis] < tensor.dims[axis])
                break;
            element -= strides[axis] * at[axis];
            at[axis] = 0;
        }
    }
}

} // namespace detail

/* A view of a tensor that owns neither dims nor elements: an output of a session, an input. */
class tensor_view {
  public:
    tensor_view() : tensor_{} {}
    explicit tensor_view(const ox_tensor &from) : tensor_(from) {}

    /* Packed elements, as many as the dims say. Both have to live as long as the view. */
    template <class T> tensor_view(span<const T> values, span<const std::int64_t> dims) : tensor_{} {
        tensor_.dtype = dtype_of<T>::value;
        tensor_.rank = static_cast<int>(dims.size());
        tensor_.dims = dims.data();
        tensor_.data = const_cast<T *>(values.data()); // inputs are only read
        if (count() != values.size())
            detail::raise(OX_ERROR_SHAPE, "ox::tensor_view: " + std::to_string(values.size()) + " values for dims of " +
                                              std::to_string(count()));
    }

    const ox_tensor &c() const noexcept { return tensor_; }
    ox_dtype dtype() const noexcept { return tensor_.dtype; }
    int rank() const noexcept { return tensor_.rank; }
    span<const std::int64_t> dims() const noexcept { return {tensor_.dims, static_cast<std::size_t>(tensor_.rank)}; }
    bool is_packed() const noexcept { return ox_tensor_is_packed(&tensor_); }

    /* The number of elements; 0 if the shape is invalid. */
    std::size_t count() const noexcept {
        const std::int64_t elements = ox_tensor_count(&tensor_);
        return elements < 0 ? 0 : static_cast<std::size_t>(elements);
    }

    /* The elements, without a copy: T has to be their type, and they have to be packed and aligned. */
    template <class T> span<const T> data() const {
        expect<T>();
        if (!is_packed())
            detail::raise(OX_ERROR_ARGUMENT,
                          "ox::tensor_view::data: the elements are not packed; to_vector copies them");
        if (reinterpret_cast<std::uintptr_t>(tensor_.data) % alignof(T))
            detail::raise(OX_ERROR_ARGUMENT,
                          "ox::tensor_view::data: the elements are not aligned; to_vector copies them");
        return {static_cast<const T *>(tensor_.data), count()};
    }

    /* A copy of the elements in row-major order, for any strides. */
    template <class T> std::vector<T> to_vector() const {
        expect<T>();
        std::vector<T> values;
        values.reserve(count());
        detail::each(tensor_, [&values](const char *at) {
            T value;
            std::memcpy(&value, at, sizeof value);
            values.push_back(value);
        });
        return values;
    }

    /* A copy of strings. */
    std::vector<std::string> to_strings() const {
        std::vector<std::string> texts;
        for (const ox_string &text : to_vector<ox_string>())
            texts.emplace_back(text.data, text.size);
        return texts;
    }

  private:
    template <class T> void expect() const {
        if (tensor_.dtype != dtype_of<T>::value)
            detail::raise(OX_ERROR_SHAPE, std::string("ox::tensor_view: the elements are ") +
                                              ox_dtype_name(tensor_.dtype) + ", not " +
                                              ox_dtype_name(dtype_of<T>::value));
    }

    ox_tensor tensor_;
};

/* A packed tensor that owns its dims and elements. */
class tensor {
  public:
    /* Zeros, or empty strings. */
    tensor(ox_dtype dtype, std::vector<std::int64_t> dims) : dtype_(dtype), dims_(std::move(dims)) {
        const ox_tensor shape = describe(nullptr);
        const std::int64_t count = ox_tensor_count(&shape);
        const std::size_t size = ox_dtype_size(dtype);
        if (count < 0 || size == 0 || static_cast<std::uint64_t>(count) > SIZE_MAX / size)
            detail::raise(OX_ERROR_ARGUMENT, "ox::tensor: no tensor has these dims and this element type");
        words_.resize((static_cast<std::size_t>(count) * size + sizeof(word) - 1) / sizeof(word));
    }

    /* A copy of values, as many as the dims say. */
    template <class T>
    tensor(span<const T> values, std::vector<std::int64_t> dims) : tensor(dtype_of<T>::value, std::move(dims)) {
        static_assert(!std::is_same_v<T, ox_string>, "ox::tensor::strings copies strings");
        expect_count(values.size());
        if (!values.empty())
            std::memcpy(words_.data(), values.data(), values.size() * sizeof(T));
    }
    template <class T>
    tensor(const std::vector<T> &values, std::vector<std::int64_t> dims)
        : tensor(span<const T>(values), std::move(dims)) {}
    template <class T>
    tensor(std::initializer_list<T> values, std::vector<std::int64_t> dims)
        : tensor(span<const T>(values.begin(), values.size()), std::move(dims)) {}

    /* A copy of any tensor. */
    explicit tensor(const tensor_view &from)
        : tensor(from.dtype(), std::vector<std::int64_t>(from.dims().begin(), from.dims().end())) {
        if (from.dtype() == OX_STRING)
            keep(from.to_strings());
        else
            copy(from);
    }

    /* A tensor of strings. */
    static tensor strings(std::vector<std::string> texts, std::vector<std::int64_t> dims) {
        tensor made(OX_STRING, std::move(dims));
        made.expect_count(texts.size());
        made.keep(std::move(texts));
        return made;
    }

    /* A serialized TensorProto, such as the .pb files of ONNX's test suite. */
    static result<tensor> try_from_proto(span<const unsigned char> bytes) {
        ox_tensor *read = nullptr;
        ox_error what;
        if (ox_tensor_from_proto(bytes.data(), bytes.size(), nullptr, &read, nullptr, &what) != OX_OK)
            return error(what);
        tensor made{tensor_view(*read)};
        ox_tensor_free(read, nullptr);
        return made;
    }
    static tensor from_proto(span<const unsigned char> bytes) { return try_from_proto(bytes).value(); }

    tensor(tensor &&) = default;
    tensor &operator=(tensor &&) = default;
    tensor(const tensor &from) : tensor(from.view()) {}
    tensor &operator=(const tensor &from) { return *this = tensor(from); }

    /* Valid while the tensor lives and is not moved to or assigned to. */
    tensor_view view() const { return tensor_view(describe(const_cast<word *>(words_.data()))); }
    operator tensor_view() const { return view(); }

    ox_dtype dtype() const noexcept { return dtype_; }
    span<const std::int64_t> dims() const noexcept { return dims_; }

    /* The elements; T has to be their type. */
    template <class T> span<const T> data() const { return view().template data<T>(); }
    template <class T> span<T> data() {
        static_assert(!std::is_same_v<T, ox_string>, "strings do not change");
        const span<const T> elements = view().template data<T>();
        return {const_cast<T *>(elements.data()), elements.size()};
    }

  private:
    struct word {
        alignas(std::max_align_t) unsigned char bytes[sizeof(std::max_align_t)];
    };

    ox_tensor describe(void *data) const {
        ox_tensor of = {};
        of.dtype = dtype_;
        of.rank = static_cast<int>(dims_.size());
        of.dims = dims_.data();
        of.data = data;
        return of;
    }

    void expect_count(std::size_t count) const {
        if (view().count() != count)
            detail::raise(OX_ERROR_SHAPE, "ox::tensor: " + std::to_string(count) + " values for dims of " +
                                              std::to_string(view().count()));
    }

    void keep(std::vector<std::string> texts) {
        texts_ = std::make_unique<std::vector<std::string>>(std::move(texts));
        unsigned char *to = words_.empty() ? nullptr : words_.front().bytes;
        for (const std::string &text : *texts_) {
            const ox_string element = {text.data(), text.size()};
            std::memcpy(to, &element, sizeof element);
            to += sizeof element;
        }
    }

    void copy(const tensor_view &from) {
        const std::size_t size = ox_dtype_size(dtype_);
        unsigned char *to = words_.empty() ? nullptr : words_.front().bytes;
        detail::each(from.c(), [&to, size](const char *at) {
            std::memcpy(to, at, size);
            to += size;
        });
    }

    ox_dtype dtype_;
    std::vector<std::int64_t> dims_;
    std::vector<word> words_;
    std::unique_ptr<std::vector<std::string>> texts_; // the bytes of strings
};

/* ---- Values other than tensors ------------------------------------------------------------------------------ */

/* A view of a value that it does not own: an output of a session, an item of another value. */
class value_view {
  public:
    explicit value_view(const ox_value *from = nullptr) : value_(from) {}

    const ox_value *c() const noexcept { return value_; }
    explicit operator bool() const noexcept { return value_ != nullptr; }
    ox_kind kind() const noexcept { return ox_value_kind(value_); }
    std::string type() const {
        char text[OX_TYPE_TEXT];
        return ox_value_type(value_, text);
    }

    /* The value's tensor; throws if the value has another kind. */
    tensor_view tensor() const { return look(ox_value_tensor(value_), "tensor"); }

    /* Items of a sequence, an optional or a map. */
    std::size_t size() const noexcept { return ox_value_count(value_); }
    value_view operator[](std::size_t index) const {
        assert(index < size());
        return value_view(ox_value_item(value_, index));
    }

    /* The keys of a map; throws for other kinds. */
    tensor_view keys() const { return look(ox_value_keys(value_), "map"); }

  private:
    tensor_view look(const ox_tensor *found, const char *what) const {
        if (!found)
            detail::raise(OX_ERROR_ARGUMENT, std::string("ox::value_view: no ") + what + ", but " + type());
        return tensor_view(*found);
    }

    const ox_value *value_;
};

/* A value that owns its contents. */
class value {
  public:
    static result<value> try_of(const tensor_view &tensor) {
        ox_value *made = nullptr;
        ox_error what;
        const ox_status status = ox_value_from_tensor(&tensor.c(), nullptr, &made, &what);
        return take(status, made, what);
    }

    /* A copy of a tensor. */
    static value of(const tensor_view &tensor) { return try_of(tensor).value(); }

    /* Copies of items of one type: a sequence, an optional (at most one), or a map with as many keys. */
    static result<value> try_of(ox_kind kind, const std::vector<value_view> &items, const tensor_view *keys = nullptr) {
        std::vector<const ox_value *> all;
        for (const value_view &item : items)
            all.push_back(item.c());
        ox_value *made = nullptr;
        ox_error what;
        const ox_tensor *named = keys ? &keys->c() : nullptr;
        const ox_status status = ox_value_from_items(kind, named, all.data(), all.size(), nullptr, &made, &what);
        return take(status, made, what);
    }
    static value sequence(const std::vector<value_view> &items) { return try_of(OX_KIND_SEQUENCE, items).value(); }
    static value optional() { return try_of(OX_KIND_OPTIONAL, {}).value(); }
    static value optional(value_view item) { return try_of(OX_KIND_OPTIONAL, {item}).value(); }
    static value map(const tensor_view &keys, const std::vector<value_view> &items) {
        return try_of(OX_KIND_MAP, items, &keys).value();
    }

    value_view view() const noexcept { return value_view(value_.get()); }
    operator value_view() const noexcept { return view(); }

  private:
    struct release {
        void operator()(ox_value *from) const { ox_value_free(from); }
    };

    explicit value(ox_value *from) : value_(from) {}
    static result<value> take(ox_status status, ox_value *made, const ox_error &what) {
        return status == OX_OK ? result<value>(value(made)) : result<value>(error(what));
    }

    std::unique_ptr<ox_value, release> value_;
};

/* ---- Models ------------------------------------------------------------------------------------------------- */

/* ox_options, zeroed. */
struct options : ox_options {
    options() : ox_options{} {}
};

/* A loaded model, which never changes. Copies share it; it is freed with the last copy, and the last session of it. */
class model {
  public:
    static result<model> try_load(const std::string &path, const options &with = {}) {
        return make(ox_model_load_file, path.c_str(), &with);
    }

    /* From bytes that must stay valid and unchanged while the model lives. */
    static result<model> try_load(span<const unsigned char> bytes, const options &with = {}) {
        return make(ox_model_load_memory, bytes.data(), bytes.size(), &with);
    }

    /* For a description of a model, also of one with operators that ox does not support. */
    static result<model> try_load_for_info(const std::string &path, const options &with = {}) {
        return make(ox_model_load_for_info, path.c_str(), &with);
    }

    static model load(const std::string &path, const options &with = {}) { return try_load(path, with).value(); }
    static model load(span<const unsigned char> bytes, const options &with = {}) {
        return try_load(bytes, with).value();
    }
    static model load_for_info(const std::string &path, const options &with = {}) {
        return try_load_for_info(path, with).value();
    }

    const ox_model *c() const noexcept { return model_.get(); }

    /* Descriptions of inputs and outputs; their pointers live as long as the model. */
    std::vector<ox_value_info> inputs() const { return list(ox_model_input_count(c()), ox_model_input); }
    std::vector<ox_value_info> outputs() const { return list(ox_model_output_count(c()), ox_model_output); }

    /* The index of the input or output of that name. */
    std::optional<std::size_t> find_input(std::string_view name) const {
        return find(name, ox_model_input_count(c()), ox_model_input);
    }
    std::optional<std::size_t> find_output(std::string_view name) const {
        return find(name, ox_model_output_count(c()), ox_model_output);
    }

    ox_model_info info() const {
        ox_model_info facts;
        ox_model_get_info(c(), &facts);
        return facts;
    }

  private:
    explicit model(ox_model *from) : model_(from, ox_model_free) {}
    template <class F, class... Arguments> static result<model> make(F load, Arguments... arguments) {
        ox_model *made = nullptr;
        ox_error what;
        if (load(arguments..., &made, &what) != OX_OK)
            return error(what);
        return model(made);
    }

    template <class F> std::vector<ox_value_info> list(std::size_t count, F describe) const {
        std::vector<ox_value_info> all(count);
        for (std::size_t i = 0; i < count; i++)
            describe(c(), i, &all[i]);
        return all;
    }

    template <class F> std::optional<std::size_t> find(std::string_view name, std::size_t count, F describe) const {
        ox_value_info found;
        for (std::size_t i = 0; i < count; i++)
            if (describe(c(), i, &found) == OX_OK && name == found.name)
                return i;
        return std::nullopt;
    }

    std::shared_ptr<ox_model> model_;
};

/* ---- Sessions ----------------------------------------------------------------------------------------------- */

/* An input or output: its index, or its name. */
class which {
  public:
    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    which(I index) : index_(static_cast<std::size_t>(index)) {}
    which(const char *name) : name_(name), named_(true) {}
    which(std::string_view name) : name_(name), named_(true) {}
    which(const std::string &name) : name_(name), named_(true) {}

  private:
    friend class session;
    std::size_t index_ = 0;
    std::string_view name_;
    bool named_ = false;
};

/* Runs a model in its own working memory; one thread may use it at a time. */
class session {
  public:
    static result<session> try_create(const ox::model &of, const options &with = {}) {
        ox_session *made = nullptr;
        ox_error what;
        if (ox_session_create(of.c(), &with, &made, &what) != OX_OK)
            return error(what);
        return session(of, made, with);
    }

    explicit session(const ox::model &of, const options &with = {}) : session(try_create(of, with).value()) {}

    session(session &&) = default;
    session &operator=(session &&other) noexcept {
        session_ = std::move(other.session_); // before its model
        calls_ = std::move(other.calls_);
        extra_ = std::move(other.extra_);
        model_ = std::move(other.model_);
        return *this;
    }

    ox_session *c() const noexcept { return session_.get(); }
    const ox::model &model() const noexcept { return model_; }

    /* Sets an input. Elements are not copied: they have to stay unchanged until the run has ended, and, if an output is
     * this very input, as long as that output is read. */
    result<void> try_set(const which &input, const tensor_view &tensor) {
        const result<std::size_t> index = find_input(input);
        if (!index)
            return index.error();
        return detail::call(ox_session_set_input, c(), index.value(), &tensor.c());
    }
    result<void> try_set(const which &input, value_view value) {
        const result<std::size_t> index = find_input(input);
        if (!index)
            return index.error();
        return detail::call(ox_session_set_value, c(), index.value(), value.c());
    }
    void set(const which &input, const tensor_view &tensor) { try_set(input, tensor).value(); }
    void set(const which &input, const tensor &tensor) { try_set(input, tensor.view()).value(); }
    void set(const which &input, tensor &&) = delete; // its elements would be gone before the run
    void set(const which &input, value_view value) { try_set(input, value).value(); }
    void set(const which &input, value &&) = delete;

    /* Packed values: a vector, an array or a span, with dims. */
    template <class C> void set(const which &input, const C &values, std::initializer_list<std::int64_t> dims) {
        set(input, values, span<const std::int64_t>(dims.begin(), dims.size()));
    }
    template <class T> void set(const which &, std::vector<T> &&, std::initializer_list<std::int64_t>) = delete;
    template <class T> void set(const which &, std::vector<T> &&, span<const std::int64_t>) = delete;
    template <class C> void set(const which &input, const C &values, span<const std::int64_t> dims) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(values))>>;
        set(input, tensor_view(span<const T>(std::data(values), std::size(values)), dims));
    }

    /* Unsets an input. */
    void unset(const which &input) {
        detail::call(ox_session_set_input, c(), find_input(input).value(), static_cast<const ox_tensor *>(nullptr))
            .value();
    }

    /* Plans memory for the inputs that are set, as the first run would do. */
    result<void> try_prepare() { return detail::call(ox_session_prepare, c()); }
    void prepare() { try_prepare().value(); }

    /* Runs the model on the inputs that are set. At its end, rethrows an exception of a function of on_step or into. */
    result<void> try_run() {
        const result<void> ended = detail::call(ox_session_run, c());
        calls_->rethrow();
        return ended;
    }
    void run() { try_run().value(); }

    /* An output of the last run: valid until the next run or prepare, or the end of the session. */
    result<tensor_view> try_output(const which &output) const {
        const result<std::size_t> index = find_output(output);
        if (!index)
            return index.error();
        ox_tensor tensor;
        ox_error what;
        if (ox_session_output(c(), index.value(), &tensor, &what) != OX_OK)
            return error(what);
        return tensor_view(tensor);
    }
    tensor_view output(const which &output) const { return try_output(output).value(); }

    /* The same for an output that is not a tensor; an empty view if it is one. */
    result<value_view> try_output_value(const which &output) const {
        const result<std::size_t> index = find_output(output);
        if (!index)
            return index.error();
        const ox_value *value = nullptr;
        ox_error what;
        if (ox_session_output_value(c(), index.value(), &value, &what) != OX_OK)
            return error(what);
        return value_view(value);
    }
    value_view output_value(const which &output) const { return try_output_value(output).value(); }

    ox_memory_info memory() const noexcept {
        ox_memory_info bytes;
        ox_session_memory(c(), &bytes);
        return bytes;
    }

    /* Makes runs call `step` after each step; an empty function turns that off. */
    void on_step(std::function<void(const ox_profile_event &)> step) {
        calls_->step = std::move(step);
        ox_session_set_profile(c(), calls_->step ? callbacks::call_step : nullptr, calls_.get());
    }

    /* Makes runs call `place` for the memory of each output, as described at ox_session_set_outputs. */
    void into(std::function<void *(std::size_t index, const tensor_view &output, std::size_t bytes)> place) {
        calls_->place = std::move(place);
        detail::call(ox_session_set_outputs, c(), calls_->place ? callbacks::call_place : nullptr, calls_.get())
            .value();
    }

  private:
    struct release {
        void operator()(ox_session *from) const { ox_session_free(from); }
    };

    /* C++ functions that the library calls. No exception passes through the library: the first one is kept until the
     * run has ended. */
    struct callbacks {
        std::function<void(const ox_profile_event &)> step;
        std::function<void *(std::size_t, const tensor_view &, std::size_t)> place;
#if defined(__cpp_exceptions)
        std::exception_ptr thrown;

        template <class F> void guard(F call) noexcept {
            try {
                if (!thrown)
                    call();
            } catch (...) {
                thrown = std::current_exception();
            }
        }
        void rethrow() {
            if (thrown)
                std::rethrow_exception(std::exchange(thrown, nullptr));
        }
#else
        template <class F> void guard(F call) noexcept {
            call();
        }
        void rethrow() {}
#endif

        static void call_step(void *context, const ox_profile_event *event) {
            callbacks *self = static_cast<callbacks *>(context);
            self->guard([self, event] { self->step(*event); });
        }
        static void *call_place(void *context, std::size_t index, const ox_tensor *output, std::size_t bytes) {
            callbacks *self = static_cast<callbacks *>(context);
            void *memory = nullptr;
            self->guard([&] { memory = self->place(index, tensor_view(*output), bytes); });
            return memory;
        }
    };

    session(const ox::model &of, ox_session *made, const options &with)
        : model_(of), calls_(std::make_unique<callbacks>()), session_(made) {
        for (std::size_t i = 0; i < with.extra_output_count; i++)
            extra_.emplace_back(with.extra_outputs[i]);
    }

    /* The index of an input. The session itself checks an index given as a number. */
    result<std::size_t> find_input(const which &of) const {
        const std::optional<std::size_t> found = of.named_ ? model_.find_input(of.name_) : of.index_;
        return found ? result<std::size_t>(*found) : missing("input", of);
    }

    result<std::size_t> find_output(const which &of) const {
        const std::optional<std::size_t> found = of.named_ ? model_.find_output(of.name_) : of.index_;
        for (std::size_t i = 0; !found && i < extra_.size(); i++)
            if (of.name_ == extra_[i])
                return ox_model_output_count(model_.c()) + i;
        return found ? result<std::size_t>(*found) : missing("output", of);
    }

    static error missing(const char *what, const which &of) {
        return error(OX_ERROR_ARGUMENT, std::string("the model has no ") + what + " '" + std::string(of.name_) + "'");
    }

    ox::model model_;
    std::vector<std::string> extra_; // names of outputs behind those of the model
    std::unique_ptr<callbacks> calls_;
    std::unique_ptr<ox_session, release> session_; // last: it goes first
};

} // namespace ox

#endif
