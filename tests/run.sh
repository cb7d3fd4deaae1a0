#!/usr/bin/env bash
# tests/run.sh BUILD_DIR [group|file ...]
#
# Run the unit tests (BUILD_DIR/tests/test_*) and the scripts of tests/cli, tests/sim
# and tests/mpi, or some groups (unit, cli, sim, mpi) or files of them, one after the
# other. One line for each file while it runs, what failed, and at the end the counts.
# A crash, a timeout, a missing plan line and a wrong count are a failure each.
# Exit status: 0 all passed, 1 some failed or nothing ran, 2 wrong usage.

set -u
if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo "usage: tests/run.sh BUILD_DIR [unit|cli|sim|mpi|FILE ...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
shift
tests=$(cd "$(dirname "$0")" && pwd)
export ATTNRES=$build/attnres
export ATTNRES_RANK_SMPI=$build/smpi/attnres-rank ATTNRES_RANK_MPI=$build/mpi/attnres-rank
export LC_ALL=C NO_COLOR=1
unset ATTNRES_DATA MAKEFLAGS MFLAGS
limit_s=${TEST_LIMIT:-300}
log=$(mktemp "${TMPDIR:-/tmp}/attnres-tap.XXXXXX") || exit 2
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

# Why a group cannot run, or nothing.
missing() {
    case $1 in
    cli) [ -x "$ATTNRES" ] || echo "$ATTNRES is not built" ;;
    sim) if [ ! -x "$ATTNRES_RANK_SMPI" ]; then echo "$ATTNRES_RANK_SMPI is not built"
        elif ! command -v smpirun >/dev/null; then echo "there is no smpirun"; fi ;;
    mpi) if [ ! -x "$ATTNRES_RANK_MPI" ]; then echo "$ATTNRES_RANK_MPI is not built"
        elif ! command -v mpirun >/dev/null; then echo "there is no mpirun"; fi ;;
    esac
}

# Files of a group, one a line.
list() {
    case $1 in
    unit) find "$build/tests" -maxdepth 1 -type f -name 'test_*' -perm -u+x 2>/dev/null | sort ;;
    *) find "$tests/$1" -maxdepth 1 -type f -name '*.sh' | sort ;;
    esac
}

# The group that a file is of.
group_of() {
    case $1 in
    *.sh) basename "$(dirname "$(realpath "$1")")" ;;
    *) echo unit ;;
    esac
}

name_of() {
    case $1 in
    *.sh) echo "$(group_of "$1")/$(basename "$1" .sh)" ;;
    *) echo "unit/$(basename "$1")" ;;
    esac
}

run_file() {
    local name started=$SECONDS status ok not_ok skips plan more=()
    name=$(name_of "$1")
    case $1 in
    *.sh) timeout -k 5 "$limit_s" bash "$1" ;;
    *) timeout -k 5 "$limit_s" "$1" ;;
    esac >"$log" 2>&1 </dev/null
    status=$?
    ok=$(grep -Ec '^ok( |$)' "$log")
    not_ok=$(grep -Ec '^not ok( |$)' "$log")
    skips=$(grep -Eic '^ok .*# skip' "$log")
    plan=$(sed -n 's/^1\.\.\([0-9][0-9]*\).*/\1/p' "$log")
    ok=$((ok - skips))
    case $status in
    0) [ "$not_ok" -eq 0 ] || more+=("exit status 0 although tests failed") ;;
    1) [ "$not_ok" -gt 0 ] || more+=("exit status 1 although no test failed") ;;
    124 | 137) more+=("stopped after $limit_s s") ;;
    *) if [ "$status" -gt 128 ]; then more+=("crashed: signal $((status - 128))")
        else more+=("ended with exit status $status"); fi ;;
    esac
    if [ -z "$plan" ]; then
        more+=("no plan line 1..N: it stopped early")
    elif [ "$plan" != $((ok + skips + not_ok)) ]; then
        more+=("planned $plan tests, ran $((ok + skips + not_ok))")
    fi
    passed=$((passed + ok))
    skipped=$((skipped + skips))
    failed=$((failed + not_ok + ${#more[@]}))
    printf '%-28s %4d passed %3d failed %4d s%s\n' "$name" "$ok" $((not_ok + ${#more[@]})) \
        $((SECONDS - started)) "$([ "$skips" -eq 0 ] || echo ", $skips skipped")"
    awk '/^not ok/ { show = 1; print "    " $0; next }
         /^#/ && show { print "    " $0; next } { show = 0 }' "$log"
    if [ ${#more[@]} -gt 0 ]; then
        printf '    %s\n' "${more[@]}"
        grep -v '^ok ' "$log" | tail -n 15 | sed 's/^/    | /'
    fi
}

[ $# -gt 0 ] || set -- unit cli sim mpi
for what; do
    case $what in
    unit | cli | sim | mpi) files=$(list "$what") ;;
    *)
        files=$what
        if [ ! -f "$what" ]; then
            echo "$what: neither a group (unit, cli, sim, mpi) nor a file" >&2
            exit 2
        fi
        ;;
    esac
    while IFS= read -r file; do
        [ -n "$file" ] || continue
        why=$(missing "$(group_of "$file")")
        if [ -n "$why" ]; then
            printf '%-28s skipped: %s\n' "$(name_of "$file")" "$why"
            skipped=$((skipped + 1))
        else
            run_file "$file"
        fi
    done <<<"$files"
done
[ $((passed + failed)) -gt 0 ] || echo "nothing ran"
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
