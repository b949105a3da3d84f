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
    line++
    if (/&onnx__.*__(attribute_type|data_location|data_type|version|operator_status)__/)
        $0 = "    NULL,"
    if (line == 6)
        messages = $0
    if (line == 6 || line == 7)
        next
    print
    if (line == 8)
        print messages
    next
}
{
    print
}
/^#include/ {
    copying = 0
}
