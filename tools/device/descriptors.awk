# descriptors.awk: the tables out of what protoc-c generates (optimized for size: names are NULL), with those members that
# src/bare/protobuf-c/protobuf-c.h has. Enumerations need no tables: they are numbers.

/^#include "onnx/ || /^static const ProtobufCField/ {
    copying = 1
}
/^(static )?const ProtobufC(Enum|IntRange|Message)/ {
    copying = /Message/
    message = copying
}
/^};/ && !copying {
    next
}
!copying || /CODE_SIZE|reserved|MAGIC|number_ranges,|ProtobufCMessageInit/ {
    next
}
/^  \{/ {
    line = 0
}
# The members of a field: number, label, type, two offsets, messages, default, flags. There are no defaults.
/^    / {
    if (/&onnx__.*__(attribute_type|data_location|data_type|version|operator_status)__/)
        $0 = "    NULL,"
    sub(/offsetof\(.*\)/, "& / OX_FIELD_UNIT")
    member[++line] = $0
    count = line == 8 ? split("1 2 3 8 4 5 6", order, " ") : 0
    for (i = 1; i <= count; i++)
        print member[order[i]]
    next
}
{
    print
}
/^#include/ {
    copying = 0
}
