#!/bin/sh
# setup.sh: what tools/setup.sh installs and says, on systems that are made up: their commands are stand-ins in a folder
# that is the whole PATH. Needs BUILD, MAKE, PYTHON.
passed=0 failed=0
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
sh=$(command -v sh)

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "failed: $1"
}

# system NAME COMMAND...: a new system, with these stand-ins beside the tools that every system has.
system() {
    bin=$work/$1
    shift
    mkdir -p "$bin"
    for tool in sh grep sed tr cat id env mktemp rm; do
        ln -s "$(command -v $tool)" "$bin/$tool"
    done
    printf '#!%s\necho 0\n' "$sh" >"$bin/id.new" && mv "$bin/id.new" "$bin/id"
    for stand_in in "$@"; do
        printf '#!%s\n' "$sh" >"$bin/$stand_in"
    done
    : >"$work/installed" >"$work/known" >"$work/called"
    chmod +x "$bin"/*
}

# debian NAME: a system with apt. It has the packages in $work/installed, and its index those in $work/known.
debian() {
    system "$1" dpkg-query apt-get apt-cache
    echo "for last; do :; done; grep -qx \"\$last\" '$work/installed' && echo installed" >>"$bin/dpkg-query"
    echo "for name; do echo \"\$name:\"; if grep -qx -e \"\$name\" '$work/known'; then echo '  Candidate: 1.0-1'; else echo '  Candidate: (none)'; fi; done
        grep -q pkgcache \"\$APT_CONFIG\" || echo 'leaves its cache' >>'$work/called'" >>"$bin/apt-cache"
    echo "grep -q pkgcache \"\$APT_CONFIG\" || echo 'leaves its cache' >>'$work/called'; echo \"\$*\" >>'$work/called'
        cache=\"\${*#*::pkgcache=}\" && echo >\"\${cache%% *}\"
        [ \"\$1\" != install ] || [ ! -e '$work/broken' ]" >>"$bin/apt-get"
}

# setup STATUS PATTERN ARGUMENT...: runs tools/setup.sh there.
setup() {
    wanted=$1 pattern=$2
    shift 2
    : >"$work/called"
    PATH=$bin "$sh" "$top/tools/setup.sh" "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    if [ $status -eq "$wanted" ] && grep -Fq -e "$pattern" "$work/out"; then pass; else
        fail "setup $* on $bin: status $status, not $wanted, or no '$pattern' in: $(cat "$work/out")"
    fi
}

# installs PATTERN...: the call of apt-get has these words; with - before them, it does not.
installs() {
    for word in "$@"; do
        case $word in
        -*) ! grep '^install' "$work/called" | grep -Eq " ${word#-}( |$)" ;;
        *) grep '^install' "$work/called" | grep -Eq " $word( |$)" ;;
        esac && pass || fail "apt-get on $bin, and $word: $(cat "$work/called")"
    done
}

build='gcc libc6-dev make pkg-config protobuf-c-compiler libprotobuf-c-dev libpng-dev zlib1g-dev'
tests='g++ libre2-dev libturbojpeg0-dev libtiff-dev libwebp-dev libopenjp2-7-dev check cmake binutils espeak-ng libjansson-dev
    libonnx-testdata libopenblas-dev fish zsh python3 python3-dev python3-venv clang clang-format cppcheck debhelper doxygen dpkg-dev lintian valgrind'
index() { echo "$@" | tr ' ' '\n' >"$work/known"; }

debian old
index $build $tests openjdk-17-jre-headless default-jre-headless libclang-rt-14-dev
setup 0 'installing gcc libc6-dev make' # what building needs, and nothing else
for package in $build; do installs "$package"; done
installs -check -python3 -g[+][+] -clang
setup 0 'installing' check
installs gcc g[+][+] openjdk-17-jre-headless -default-jre-headless -clang
setup 0 'installing' lint
installs libclang-rt-14-dev cppcheck -check

grep 'leaves its cache' "$work/called" && fail 'apt leaves the binary forms of its index behind' || pass
cache=$(sed -n 's/.* Dir::Cache::pkgcache=\([^ ]*\).*/\1/p' "$work/called" | head -n 1)
[ -n "$cache" ] && [ ! -e "${cache%/*}" ] && pass || fail "set-up leaves '${cache%/*}' behind"

debian new
index $build $tests default-jre-headless libclang-rt-dev
setup 0 'installing' check lint
installs default-jre-headless -openjdk-17-jre-headless libclang-rt-dev -libclang-rt-14-dev

debian complete
echo $build | tr ' ' '\n' >"$work/installed"
setup 0 'every package is installed'
[ -s "$work/called" ] && fail "apt-get is called for nothing: $(cat "$work/called")" || pass
sed -i 's/^pkg-config$/pkgconf/' "$work/installed"
setup 0 'every package is installed'

debian poor # an index that lacks a package, and then one that gives nothing
index $build check
setup 1 'the package index knows none of: g++ libre2-dev' check
grep -q '^install' "$work/called" && fail 'some of the packages are installed' || pass
setup 0 'left out, as the package index does not know it: g++ libre2-dev' --try check
installs gcc check
: >"$work/broken"
setup 1 'could not be installed: gcc'
setup 0 'could not be installed: gcc' --try
rm "$work/broken"
setup 2 "there is no part 'chekc', only check, lint, cross and device" chekc

for manager in dnf apk pacman brew; do
    system "with-$manager" $manager
    setup 1 "there is no apt-get here; building needs: $manager "
    setup 0 'protobuf-c' --try check
done
system bare
for line in 'dnf install gcc make pkgconf-pkg-config protobuf-c-compiler protobuf-c-devel libpng-devel zlib-devel' \
    'apk add gcc musl-dev make pkgconf protobuf-c-compiler protobuf-c-dev libpng-dev zlib-dev' \
    'pacman -S gcc make pkgconf protobuf-c libpng zlib' 'brew install gcc make pkgconf protobuf-c libpng'; do
    setup 1 "    $line"
done
system other cc make pkg-config protoc-c
setup 0 'what building needs is here'
setup 0 'what check need' check

# ---- Other mistakes of a first hour ------------------------------------------------------------------------------

# refused PATTERN ARGUMENT...: make must fail, and say so.
refused() {
    pattern=$1
    shift
    if $MAKE --no-print-directory BUILD="$BUILD" "$@" >"$work/out" 2>&1; then
        fail "make $* succeeds: $(cat "$work/out")"
    elif grep -Fq -e "$pattern" "$work/out"; then pass; else fail "make $*: $(cat "$work/out")"; fi
}
targets="there is no TARGET 'cortex-m9': it is one of cortex-m0 cortex-m3 cortex-m4 cortex-m55 host rv32"
refused "$targets" device TARGET=cortex-m9
refused "$targets" firmware TARGET=cortex-m9
TARGET=cortex-m9 refused "$targets" device DEVICE="$work/device"
[ -e "$BUILD/device/cortex-m9" ] && fail 'something is built for a target that is not there' || pass

# Every processor works unless somebody says how many do.
printf 'include Makefile\nshow:\n\t@echo $(MAKEFLAGS)\n' >"$work/show.mk"
flags() { $MAKE --no-print-directory -f "$work/show.mk" "$@" show | grep -o -e '-j[0-9][0-9]*'; }
(
    unset MAKEFLAGS MAKELEVEL MFLAGS
    cd "$top" && [ "$(flags)" = "-j$(nproc)" ] && [ "$(flags -j1)" = -j1 ] && [ "$(flags -j7)" = -j7 ]
) && pass || fail 'make without -j is not on all processors, or with it not on those that it says'

# A package onnx with nothing in it, as Debian's libonnx-testdata leaves one, is none.
mkdir -p "$work/empty/onnx/backend"
printf '#!%s\nPYTHONPATH=%s exec %s -S "$@"\n' "$sh" "$work/empty" "$(command -v python3)" >"$work/python"
chmod +x "$work/python"
for part in cli plugin; do
    OX=$BUILD/ox BUILD=$BUILD CC=${CC:-cc} PYTHON=$work/python sh "$top/tests/$part/run.sh" >"$work/out" 2>&1
    if grep -q '^[0-9]* passed, 0 failed, [1-9][0-9]* skipped$' "$work/out"; then pass; else
        fail "$part with an empty package onnx: $(tail -n 3 "$work/out")"
    fi
done

# An index that cannot be reached: what needs it is skipped, and nothing of it stays to make a later run skip it, too.
printf 'nothing==1.0 --hash=sha256:%064d\n' 0 >"$work/requirements"
(
    export PIP_INDEX_URL=http://localhost:9/ PIP_RETRIES=0 PIP_DEFAULT_TIMEOUT=1 PIP_CONFIG_FILE=/dev/null
    sh "$top/tests/venv.sh" python3 "$work/test-venv" "$work/requirements"
) >"$work/out" 2>&1
if [ -e "$work/test-venv" ] || [ ! -e "$work/test-venv.note" ]; then
    fail "an environment without an index: $(ls "$work")"
else pass; fi
$MAKE --no-print-directory -n SETUP=: BUILD="$work" check 2>/dev/null | grep -q "rm -f $work/\*venv.note" && pass ||
    fail 'make check leaves the notes of missing environments'

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
