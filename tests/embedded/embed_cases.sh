#!/bin/sh
# embed_cases.sh DIR CASE...: node cases of the folder DIR as C arrays, and a table of them, for firmware without files.
dir=$1
shift
table=

# array NAME FILE
array() {
    echo "static const unsigned char $1[] __attribute__((aligned(8))) = {"
    od -An -v -tx1 "$2" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
    echo '};'
}

echo '/* Written by tests/embedded/embed_cases.sh. */'
for case in "$@"; do
    set=$dir/$case/test_data_set_0
    entry="{\"$case\", {${case}_model, sizeof ${case}_model}, {"
    array "${case}_model" "$dir/$case/model.onnx"
    for input in "$set"/input_?.pb; do
        name=${case}_$(basename "$input" .pb)
        array "$name" "$input"
        entry="$entry{$name, sizeof $name}, "
    done
    array "${case}_output" "$set/output_0.pb"
    table="$table    $entry}, {${case}_output, sizeof ${case}_output}},
"
done
printf 'static const embedded_case cases[] = {\n%s};\n' "$table"
