# Reads include/isoline.h and writes a C program that prints the ABI as this compiler sees it: the number of every
# enumerator and of every macro but the version's, the type of every integer with a name, the size of every struct, offset
# and size of every field, and every function's prototype.
# Made from the header itself, so that nothing new can be forgotten.
function integer_type(name) {
    printf "    printf(\"%s size %%zu %%s\\n\", sizeof(%s), (%s)-1 > 0 ? \"unsigned\" : \"signed\");\n", name, name, name
}
BEGIN {
    print "#include \"isoline.h\"\n#include <stdalign.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {"
}
/^ *\/\*\*/ { in_comment = 1 }
in_comment { in_comment = !/\*\//; next }
{ sub(/\/\/.*/, "") }
# The version is another one in every release.
/^#define ISOLINE_[A-Z0-9_]+ [-(0-9]/ && !/^#define ISOLINE_VERSION/ { printf "    printf(\"%s %%.17g\\n\", (double)%s);\n", $2, $2 }
/^ISOLINE_ENUM\(isoline_/ {
    enumeration = $1
    gsub(/^ISOLINE_ENUM\(|\)$/, "", enumeration)
}
enumeration != "" && $1 ~ /^ISOLINE_[A-Z0-9_]+$/ && $2 == "=" {
    printf "    printf(\"%s %s %%ld\\n\", (long)%s);\n", enumeration, $1, $1
}
enumeration != "" && /^};/ {
    integer_type(enumeration)
    enumeration = ""
}
/^typedef [a-z0-9_]+ isoline_[a-z_]+;/ {
    name = $NF
    sub(/;/, "", name)
    integer_type(name)
}
/^typedef struct \{/ { in_struct = 1; fields = 0; next }
in_struct && /^}/ {
    name = $2
    sub(/;/, "", name)
    printf "    printf(\"%s size %%zu align %%zu\\n\", sizeof(%s), alignof(%s));\n", name, name, name
    for (i = 0; i < fields; i++)
        printf "    printf(\"%s.%s offset %%zu size %%zu type %s\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", \
            name, field[i], type[i], name, field[i], name, field[i]
    in_struct = 0
}
in_struct && /;/ {
    declared = $0
    sub(/;.*/, "", declared)
    sub(/^ +/, "", declared)
    bare = declared
    sub(/\[[0-9]+\]$/, "", bare)
    match(bare, /[a-z_0-9]+$/)
    field[fields] = substr(bare, RSTART)
    kind = substr(bare, 1, RSTART - 1)
    sub(/ +$/, "", kind)
    type[fields] = kind
    fields++
}
/^typedef .*\(\*isoline_/ { printf "    puts(\"%s\");\n", $0 }
# A program of an older header is not concerned by 'ISOLINE_DEPRECATED'.
prototype != "" || /^[a-z].*[ *]isoline_[a-z0-9_]+\(/ && !/^typedef/ {
    prototype = prototype (prototype == "" ? "" : " ") $0
    if (/;/) {
        gsub(/ +/, " ", prototype)
        gsub(/\( /, "(", prototype)
        printf "    puts(\"%s\");\n", prototype
        prototype = ""
    }
}
END { print "    return 0;\n}" }
