# shellcheck shell=bash
# A tiny Test Anything Protocol library for bash. A test script sources it, works in
# a directory of its own that is removed at its end, and ends with `tap_done`: a
# script that stops early lacks its plan line and counts as failed.

if [ -z "${ATTNRES:-}" ]; then
    echo "set ATTNRES to the attnres to test, or start this through tests/run.sh" >&2
    exit 2
fi
tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data_dir=$tests_dir/data
export tests_dir data_dir
tap_run=0
tap_failed=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/attnres-test.XXXXXX") || exit 2
tap_clean() {
    cd /
    chmod -R u+rwx "$tap_dir" 2>/dev/null
    rm -rf "$tap_dir"
}
trap tap_clean EXIT
cd "$tap_dir" || exit 2
status=0

# Go to a new empty directory.
fresh() {
    cd "$(mktemp -d "$tap_dir/case.XXXXXX")" || exit 2
}

# pass NAME, fail NAME [line...]: what went wrong goes below, as TAP comments.
pass() {
    tap_run=$((tap_run + 1))
    printf 'ok %d - %s\n' "$tap_run" "$1"
}
fail() {
    tap_run=$((tap_run + 1))
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_run" "$1"
    shift
    for tap_line in "$@"; do printf '%s\n' "$tap_line" | head -n 30 | sed 's/^/#   /'; done
}

# skip NAME REASON
skip() {
    tap_run=$((tap_run + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_run" "$1" "$2"
}

# capture COMMAND...: its output goes to the files out and err, its status to $status.
capture() {
    "$@" >out 2>err </dev/null
    status=$?
}

# ok NAME COMMAND...: the command succeeds.
ok() {
    tap_name=$1
    shift
    capture "$@"
    if [ "$status" -eq 0 ]; then
        pass "$tap_name"
    else
        fail "$tap_name" "exit status $status of: $*" "$(tail -n 15 out)" "$(tail -n 15 err)"
    fi
}

# is GOT WANTED NAME
is() {
    if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got:    $1" "wanted: $2"; fi
}

# like TEXT REGEX NAME: a line of the text matches the extended regular expression.
like() {
    if printf '%s\n' "$1" | grep -Eq -e "$2"; then
        pass "$3"
    else
        fail "$3" "got:    $1" "wanted: a match of $2"
    fi
}

# fails_with STATUS REGEX COMMAND...: exit status and a line on stderr.
fails_with() {
    tap_status=$1 tap_regex=$2
    shift 2
    tap_name="$tap_status: $*"
    tap_name=${tap_name//"$ATTNRES"/attnres}
    tap_name=${tap_name//"$tests_dir"/tests}
    capture "$@"
    if [ "$status" -eq "$tap_status" ] && grep -Eq -e "$tap_regex" err; then
        pass "$tap_name"
    else
        fail "$tap_name" "exit status $status, wanted $tap_status; wanted on stderr: $tap_regex" \
            "$(tail -n 15 err)"
    fi
}

# near GOT WANTED RELATIVE NAME: numbers, |got - wanted| <= relative x |wanted|.
near() {
    if awk -v a="$1" -v b="$2" -v r="$3" 'BEGIN {
            if (a !~ /^[-+0-9.e]+$/ || b !~ /^[-+0-9.e]+$/) exit 1
            d = a - b; if (d < 0) d = -d; if (b < 0) b = -b
            exit !(d <= r * b) }'; then
        pass "$4"
    else
        fail "$4" "got:    $1" "wanted: $2, within $3 of it"
    fi
}

# calc EXPRESSION: its value with 17 digits.
calc() {
    awk "BEGIN { printf \"%.17g\\n\", $1 }"
}

# cells FILE COLUMN...: those columns of every row of a CSV file (RFC 4180, no line
# breaks in cells), parted by tabs.
cells() {
    tap_file=$1
    shift
    awk -v wanted="$*" '
        function parse(line,    n, c, q, i, cell) {
            n = 0; q = 0; cell = ""
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (q && c == "\"" && substr(line, i + 1, 1) == "\"") { cell = cell c; i++ }
                else if (c == "\"") q = !q
                else if (c == "," && !q) { got[++n] = cell; cell = "" }
                else cell = cell c
            }
            got[++n] = cell
            return n
        }
        { sub(/\r$/, ""); n = parse($0) }
        NR == 1 { columns = n; for (i = 1; i <= n; i++) at[got[i]] = i
                  count = split(wanted, name, " "); next }
        n != columns { printf "row of %d cells, header of %d\n", n, columns; next }
        { for (k = 1; k <= count; k++)
              printf "%s%s", (name[k] in at) ? got[at[name[k]]] : "no column " name[k], \
                  k < count ? "\t" : "\n" }' "$tap_file"
}

# cell COLUMN: of the last row of out.dir/results.csv, where `point` put it.
cell() {
    cells "${2:-dir/results.csv}" "$1" | tail -n 1
}

# gone PID NAME: the process ends within 5 seconds (a zombie has ended).
gone() {
    for _ in $(seq 50); do
        case $(ps -o stat= -p "$1" 2>/dev/null) in '' | Z*)
            pass "$2"
            return
            ;;
        esac
        sleep 0.1
    done
    fail "$2" "process $1 is still there: $(ps -o args= -p "$1")"
}

# Has this build a rank program for the engine (smpi, mpi) and this machine its launcher?
have_engine() {
    [ -x "$(dirname "$ATTNRES")/$1/attnres-rank" ] || return 1
    case $1 in smpi) command -v smpirun ;; *) command -v mpirun ;; esac >/dev/null
}

# Platforms are read through SimGrid; a build without it says so.
have_platforms() {
    ! "$ATTNRES" plan --layers 1 --unit 1 --block 1 --width 1 --stages 1 --platform free 2>&1 |
        grep -q 'built without SimGrid'
}

# limited COMMAND...: with less memory than the machine has and 10 seconds, so that a
# mistake is a failure and not the end of the machine. (A sanitizer needs the space.)
tap_space=unlimited
if (ulimit -v 4000000 && "$ATTNRES" --version) >/dev/null 2>&1; then tap_space=4000000; fi
limited() (
    ulimit -v "$tap_space"
    exec timeout -k 1 10 "$@"
)

tap_done() {
    echo "1..$tap_run"
    [ "$tap_failed" -eq 0 ]
    exit
}
