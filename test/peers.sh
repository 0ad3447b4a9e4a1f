#!/bin/sh
# peers.sh [tau|ccaffeine|readers|ipm|dlb]...: builds other tools into build/peers, each once, for the tests and benches that
# run against them; without arguments, those of the tests. Their sources are in ../shared/peers, beside the project. Where
# that folder is not there, says so and leaves it at that; with CI=1 that is an error.
#
#   tau        build/peers/tau/x86_64/bin/tau_exec, pprof …           ccaffeine  build/peers/ccaffeine/ccafe-single, ccafe-batch
#   readers    PYTHONPATH=build/peers/readers /usr/bin/python3        ipm        build/peers/ipm/libipm.so
#   dlb        build/peers/dlb/libdlb_mpi.so
set -eu
cd "$(dirname "$0")/.."
sources=$PWD/../shared/peers
into=$PWD/build/peers

if ! [ -d "$sources" ]; then
    echo "no ../shared/peers here: what runs against other tools is skipped"
    [ "${CI:-}" != 1 ] || exit 1
    exit 0
fi
mkdir -p "$into"

unpack() { # ARCHIVE: into a folder of its name's first word
    rm -rf "$into/$1.source"
    mkdir -p "$into/$1.source"
    tar xf "$sources/$1"-*.tar.xz -C "$into/$1.source" --strip-components=1
    cd "$into/$1.source"
}

tau() {
    "$sources/build-tau.sh" "$into"
    find "$into/tau2" -name '*.[oa]' -delete # 600 MB; its makefiles refer to what else is there
}

ccaffeine() {
    "$sources/build-ccaffeine.sh" "$into"
}

readers() {
    tar xf "$sources/python-readers.tar.xz" -C "$into"
}

# Its build wants options that its libtool has not been told, and its Fortran part does not link.
ipm() {
    unpack IPM
    ./bootstrap.sh
    ./configure CC=gcc MPICC=mpicc.openmpi MPIF77=mpif77.openmpi --disable-papi
    sed -i 's/^wl=.*/wl="-Wl,"/; s/^pic_flag=.*/pic_flag=" -fPIC -DPIC"/' libtool
    make -C src libipm.la
    install -D src/.libs/libipm.so "$into/ipm/libipm.so"
}

dlb() {
    unpack dlb
    autoreconf -fi
    ./configure --with-mpi=/usr/lib/x86_64-linux-gnu/openmpi --disable-debug --disable-instrumentation \
        --disable-instrumentation-debug --disable-openmp
    make
    mkdir -p "$into/dlb"
    cp -P .libs/libdlb*.so* "$into/dlb"
}

[ $# -gt 0 ] || set -- tau ccaffeine readers
failed=
for peer in "$@"; do
    case $peer in
    tau | ccaffeine | readers | ipm | dlb) ;;
    *) echo "$peer: not one of tau, ccaffeine, readers, ipm, dlb" >&2; exit 2 ;;
    esac
    [ -e "$into/$peer.built" ] && continue
    echo "PEER $peer"
    set +e # in a condition, no command of a function would end it
    (
        set -e
        flock 8
        [ -e "$into/$peer.built" ] && exit
        $peer >"$into/$peer.log" 2>&1
        touch "$into/$peer.built"
    ) 8>"$into/$peer.lock"
    status=$?
    set -e
    [ $status = 0 ] && continue
    echo "could not be built: $peer, see build/peers/$peer.log" >&2
    failed=1
done
[ -z "$failed" ]
