#!/bin/sh
# What is missing to build and run attnres: installed where that is possible (root on
# Debian), else named, with how to get it. `deps.sh lint` adds what `make lint` needs.
set -eu

has_header() { echo "#include <$1>" | ${CC:-cc} -E - >/dev/null 2>&1; }
has_program() { command -v "$1" >/dev/null 2>&1; }
has_openblas() { has_header cblas.h && echo 'int main(void){return 0;}' | ${CC:-cc} -xc - -lopenblas -o /dev/null 2>/dev/null; }

debian='' fedora='' spack=''
need() { # debian names, fedora names, spack names
    debian="$debian $1" fedora="$fedora $2" spack="$spack $3"
}

{ has_program "${CC:-cc}" && has_header stdio.h; } || need 'gcc libc6-dev' 'gcc glibc-devel' 'gcc'
{ has_program mpicc && has_program mpirun; } || need 'libopenmpi-dev openmpi-bin' 'openmpi-devel' 'openmpi'
{ has_program smpicc && has_header simgrid/engine.h; } || need 'simgrid libsimgrid-dev' 'simgrid-devel' 'simgrid'
has_header hwloc.h || need 'libhwloc-dev' 'hwloc-devel' 'hwloc'
has_header papi.h || need 'libpapi-dev' 'papi-devel' 'papi'
has_openblas || need 'libopenblas-dev' 'openblas-devel' 'openblas'
{ has_program valgrind && has_header valgrind/callgrind.h; } || need 'valgrind' 'valgrind valgrind-devel' 'valgrind'
has_program gnuplot || need 'gnuplot-nox' 'gnuplot-minimal' 'gnuplot'
if [ "${1:-}" = lint ]; then
    has_program clang-format || need 'clang-format' 'clang-tools-extra' 'llvm'
    has_program clang || need 'clang' 'clang' 'llvm'
    echo 'int main(void){return 0;}' | clang -fopenmp -xc - -o /dev/null 2>/dev/null ||
        need 'libomp-dev' 'libomp-devel' 'llvm-openmp'
    has_program cppcheck || need 'cppcheck' 'cppcheck' 'cppcheck'
    { has_program aarch64-linux-gnu-gcc && has_program qemu-aarch64; } ||
        need 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user' 'gcc-aarch64-linux-gnu qemu-user' 'qemu'
    has_program shellcheck || need 'shellcheck' 'ShellCheck' 'shellcheck'
fi

[ -z "$debian" ] && exit 0
if [ "$(id -u)" = 0 ] && has_program apt-get; then
    echo "installing:$debian" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    # shellcheck disable=SC2086 # a list of names
    apt-get install -y -qq --no-install-recommends $debian >&2
    exit 0
fi
cat >&2 <<TEXT
Missing, and this user cannot install packages here:
  Debian:  apt-get install$debian
  Fedora:  dnf install$fedora
  Spack:   spack install$spack
SimGrid, PAPI and valgrind may be absent: the build says what it then leaves out (make all).
TEXT
exit 1
