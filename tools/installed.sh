#!/bin/sh
# installed.sh DESTDIR PREFIX [--gone]: after `make install`, lets programs find the shared library: by ldconfig where it
# looks into the folder and root asks, or else by a line that says how. After `make uninstall` (--gone), lets ldconfig
# forget it. Says nothing of an installation that is still to be moved (DESTDIR).
destdir=$1 prefix=$2 gone=${3:-}
lib=$prefix/lib
PATH=$PATH:/usr/sbin:/sbin

[ -z "$destdir" ] || exit 0

# True if ldconfig, and so the loader, looks into the folder.
is_searched() { ldconfig -N -X -v 2>/dev/null | grep -q "^$lib:\( \|\$\)"; }

if is_searched; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "ox: so that programs find $lib/libox.so.0, run: sudo ldconfig"
    else
        ldconfig
    fi
elif [ -z "$gone" ]; then
    pkg_config=
    [ "$(pkg-config --variable=prefix ox 2>/dev/null)" = "$prefix" ] || pkg_config="PKG_CONFIG_PATH='$lib/pkgconfig' "
    echo "ox: the loader does not look into $lib. Build programs with"
    echo "    cc program.c \$(${pkg_config}pkg-config --cflags --libs ox) -Wl,-rpath,'$lib'"
    echo "or start them with"
    echo "    export LD_LIBRARY_PATH='$lib'"
fi
