/* analyze.h: comes before each file that clang's analyzer reads. It sees one file at a time, and so not that what makes
 * an error returns the status that it is given, which is never OX_OK. */
#ifndef OX_TESTS_ANALYZE_H
#define OX_TESTS_ANALYZE_H

#include "../src/ops/op.h"
#include "../tools/tool.h"

#undef ox_call_fail
#define ox_fail(error, status, ...) ((ox_fail)(error, status, __VA_ARGS__), (status))
#define ox_fail_memory(error, ...) ((ox_fail_memory)(error, __VA_ARGS__), OX_ERROR_MEMORY)
#define ox_call_fail(call, status, ...) ((ox_call_fail)(call, status, __VA_ARGS__), (status))
#define ox_tool_fail(error, status, ...) ((ox_tool_fail)(error, status, __VA_ARGS__), (status))

#endif
