#!/bin/sh
# All tests of BUILD, then those that can run under sanitizers in BUILD/asan; ends with the
# sum of both: "N passed, N failed".
set -u
build=$1
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$here/run.sh" "$build" | tee "$dir/plain"
echo "--- under AddressSanitizer and UBSan"
# Open MPI, SimGrid and hwloc leak at their end: only our own memory errors are of interest.
ASAN_OPTIONS=detect_leaks=0 "$here/run.sh" "$build/asan" unit cli mpi | tee "$dir/asan"
tail -q -n 1 "$dir/plain" "$dir/asan" | awk '
    { for (i = 1; i < NF; i++) { if ($(i+1) ~ /^passed/) p += $i
          if ($(i+1) ~ /^failed/) f += $i; if ($(i+1) ~ /^skipped/) s += $i } }
    END { printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""; exit f > 0 || p == 0 }'
