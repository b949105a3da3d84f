# select.awk: what a reduced build of the library has. Reads the names of element types in src/ox.h, lists of operators
# as `ox embed` writes them, then src/ops/table.inc, and writes the rows that are wanted to selected.inc and the element
# types to selection.h, both in the folder `dir`. Without a list everything is wanted.
#
#     awk -v dir=FOLDER -f select.awk src/ox.h [OPS...] src/ops/table.inc

# The start of a text out of a list, to be shown.
function shown(text) {
    text = length(text) > 60 ? substr(text, 1, 60) "..." : text
    gsub(/[^ -~]/, "?", text)
    return text
}

function fail(text) {
    print FILENAME ":" FNR ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

# Adds a list of types to those of one kind.
function add_types(list, kind, i, n, type) {
    n = split(list, type, " ")
    for (i = 1; i <= n; i++)
        if (!seen[kind, type[i]]++)
            sets[kind] = sets[kind] " | 1u << OX_" toupper(type[i])
}

# Whether scales of these types are lane programs, which have doubles for int32.
function needs_programs(name, list, i, n, type) {
    n = split(list, type, " ")
    for (i = 1; i <= n; i++)
        if (type[i] !~ /^(float|u?int8|u?int16|int32)$/ && !(type[i] == "double" && name == "DequantizeLinear"))
            return 1
    return 0
}

BEGIN {
    # A path with = in it would be taken for an assignment.
    for (i = 1; i < ARGC; i++)
        if (ARGV[i] ~ /=/ && ARGV[i] !~ /^\//)
            ARGV[i] = "./" ARGV[i]
    types_file = ARGV[1]
    table_file = ARGV[ARGC - 1]
    selective = ARGC > 3
    # Operators that only models of `ox embed` name, and the part of the library that has them.
    split("QLinearAdd arithmetic QLinearSub arithmetic QLinearMul arithmetic QLinearDiv arithmetic QLinearGemm gemms QLinearAveragePool means QLinearGlobalAveragePool means ByteTable tables", pair, " ")
    for (i = 1; i in pair; i += 2)
        own[pair[i]] = pair[i + 1]
    nfeatures = split("texts operators functions external quantized depth columns means gemms arithmetic tables rewritten trees typed constants attributes subgraphs values runs passes moves scales", feature, " ")
    for (i = 1; i <= nfeatures; i++)
        features[feature[i]] = 0
    table = dir "/selected.inc"
    header = dir "/selection.h"
    printf "" >table
}

FNR == 1 {
    in_table = FILENAME == table_file
    in_list = !in_table && FILENAME != types_file
}

FILENAME == types_file && /^ *OX_[A-Z0-9]+ = [0-9]+,/ && !all_types {
    known[tolower(substr($1, 4))] = $3 + 0 > 0
}
/OX_DTYPE_COUNT/ {
    all_types = 1
}

# "Add 14 float int32", "Conv 11 early", "onednn.graph.StaticExpand 1 float", "with texts functions"; comments start with #.
in_list {
    sub(/#.*/, "")
    sub(/\r$/, "")
    if (!NF)
        next
    if ($1 == "with") {
        for (i = 2; i <= NF; i++) {
            if (!($i in features))
                fail("no feature of the library: " shown($i))
            features[$i] = 1
        }
        next
    }
    if ($2 !~ /^[0-9]+$/)
        fail("not an operator, its version and its element types: " shown($0))
    if ($1 in own) {
        features[own[$1]] = features["rewritten"] = features["runs"] = 1
        features["attributes"] = features["attributes"] || $1 ~ /Gemm|AveragePool|Table/
        flags["OX_OP_GAPS"] = 1
        for (i = 3; i <= NF; i++) {
            if (!known[$i])
                fail("no element type: " shown($i))
            add_types($i, "types")
        }
        next
    }
    if (NF < 3)
        late[$1, $2] = 1
    wanted[$1, $2] = FILENAME ":" FNR ": ox has no operator " shown($1 "-" $2)
    for (i = 3; i <= NF; i++) {
        if ($i == "early" && NF == 3) # only until the loader has rewritten its nodes
            continue
        late[$1, $2] = 1
        if (!known[$i])
            fail("no element type: " shown($i))
        types[$1, $2] = types[$1, $2] " " $i
    }
}

# A row of the table: its name, with the domain if it is not ONNX's own, and the versions that it serves.
in_table && /^(OP|OP_IN|LANES|MIXED|MIXED_OUT|SCALED|ROWS|ROWS_OUT|DENSE|DENSE_IN|CONTROL|BODIES_IN)\(/ {
    text = $0
    domain = ""
    if (sub(/^[A-Z]+_IN\(/, "", text)) {
        domain = text
        sub(/^"/, "", domain)
        sub(/".*/, "", domain)
        sub(/^"[^"]*", */, "", text)
    } else {
        sub(/^[A-Z_]+\(/, "", text)
    }
    name = text
    sub(/,.*/, "", name)
    versions = text
    sub(/^[^(]*\(/, "", versions)
    sub(/\).*/, "", versions)
    count = split(versions, version, /, */)
    full = domain == "" ? name : domain "." name
    keep = !selective
    early = selective
    for (i = 1; i <= count; i++)
        if ((full, version[i]) in wanted) {
            keep = 1
            if ((full, version[i]) in late)
                early = 0
            # What takes every type moves elements, by their size; all others have loops for a type.
            if (/^SCALED/ && needs_programs(name, types[full, version[i]]))
                features["scales"] = 1
            add_types(types[full, version[i]], /OX_SET_ALL[,)]/ ? "moved" : "types")
            if (!/^(LANES|MIXED|SCALED)|OX_SET_ALL[,)]|OX_OP_QUANTIZED/)
                add_types(types[full, version[i]], "reduced")
            delete wanted[full, version[i]]
        }
    if (keep) {
        symbol = domain "_" name "_" version[1]
        gsub(/[^A-Za-z0-9]/, "_", symbol)
        if (early)
            print "#undef HOW\n#define HOW EARLY" >table
        print "PLANNED(ox_row_" symbol ") " $0 >table
        if (early)
            print "#undef HOW\n#define HOW WHOLE" >table
        if (full == "Gemm")
            has_gemm = 1
        if (full == "ConvInteger")
            features["columns"] = 1
        # Lane programs, and what may convert elements by their loops: not views, products, operators of bytes, pools, trees.
        if (!early && !/^(SCALED|DENSE)|OX_OP_QUANTIZED|, (none|reshape|pool|tree_ensemble), [^,]*\)$/)
            features["passes"] = 1
        # Strides of results and loops that move elements: what keeps elements in order needs neither.
        if (!early && !/^SCALED|OX_OP_QUANTIZED|, (flatten|reshape|squeeze|unsqueeze|identity), none, |, tree_ensemble, [^,]*\)$/)
            features["moves"] = 1
        if (!/OX_OP_NO_ATTRS/)
            features["attributes"] = 1
        if (/OX_OP_VALUES/)
            features["values"] = 1
        if (/OX_OP_CONTROL/)
            features["subgraphs"] = 1
        if (!/^OP.*, none, [^,]*\)$/ && !/^CONTROL/) # a view
            features["runs"] = 1
        for (rest = $0; match(rest, /OX_OP_[A-Z_]+/); rest = substr(rest, RSTART + RLENGTH))
            flags[substr(rest, RSTART, RLENGTH)] = 1
    }
    else if (kept && full == before) # a version that is kept must not serve the later ones, too
        printf "GONE(\"%s\", %s, (%s))\n", domain, name, version[1] >table
    kept = keep
    before = full
}

END {
    if (failed)
        exit 1
    for (key in wanted) {
        print wanted[key] >"/dev/stderr"
        failed = 1
    }
    # The loader makes QLinearGemm of Gemm: its bias.
    if (features["quantized"] && has_gemm)
        features["gemms"] = 1
    if (features["quantized"] && features["gemms"])
        add_types("int32", "types")
    print "/* Written by tools/device/select.awk. */" >header
    print "#define OX_TABLE \"selected.inc\"" >header
    if (selective) {
        print "#define OX_TYPES (0" sets["types"] ")" >header
        print "#define OX_MOVED_TYPES (OX_TYPES" sets["moved"] ")" >header
        print "#define OX_REDUCED_TYPES (0" sets["reduced"] ")" >header
        list = "0"
        for (flag in flags)
            list = list " | " flag
        print "#define OX_ROW_FLAGS (" list ")" >header
    }
    if (features["scales"])
        features["passes"] = 1
    if (features["passes"] || features["operators"])
        features["moves"] = 1
    if (features["operators"])
        features["attributes"] = features["runs"] = 1
    for (i = 1; i <= nfeatures && selective; i++)
        print "#define OX_WITH_" toupper(feature[i]) " " features[feature[i]] >header
    exit failed
}
