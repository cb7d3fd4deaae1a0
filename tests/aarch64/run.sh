#!/bin/sh
# tests/aarch64/run.sh ROOT TEST: run a unit test that was built for aarch64 in emulation, the
# libraries under ROOT. One line if it passes; what failed, and status 1, if not.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if OMP_WAIT_POLICY=passive qemu-aarch64 -L "$1" "$2" >"$log" 2>&1; then
    echo "  aarch64 $(basename "$2"): $(grep -c '^ok' "$log") passed"
else
    echo "  aarch64 $(basename "$2") failed:"
    grep -v '^ok' "$log"
    exit 1
fi
