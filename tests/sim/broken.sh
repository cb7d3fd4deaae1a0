#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# Simulations that deadlock, abort, crash, hang or are killed: smpirun exits 0 for
# some of them. Each is a failed row with its reason and exit code 4, and nothing is
# left running. A wrapper for smpirun stands first in the PATH.
. "$(dirname "$0")/../tap.sh"

smpirun=$(command -v smpirun)
mkdir bin tmp
PATH=$PWD/bin:$PATH
here=$PWD
TMPDIR=$here/tmp
export TMPDIR
point='--layers 4 --block 2 --width 8 --tokens 4 --stages 2 --microbatches 2'

# wrapper LINE...: the body of bin/smpirun.
wrapper() {
    { echo '#!/bin/sh' && printf '%s\n' "$@"; } >"$here/bin/smpirun"
    chmod +x "$here/bin/smpirun"
}

# broken NAME REASON [option...]: the point fails with the reason, in the row too.
broken() {
    local name=$1 reason=$2
    shift 2
    fresh
    # shellcheck disable=SC2086
    capture timeout 60 "$ATTNRES" sim $point --platform "$data_dir/two.xml" -o dir "$@"
    is "$status" 4 "$name: exit code 4"
    like "$(cat err)" "^attnres: $reason" "$name: stderr says so"
    is "$(cells dir/results.csv status step_s)" "failed	" "$name: a failed row without a step"
    like "$(cell reason)" "$reason" "$name: the row has the reason"
    is "$(ls "$TMPDIR")" "" "$name: no scratch files are left"
}

wrapper 'echo "[0.0] [ker_engine/INFO] Oops! Deadlock detected, some activities are still around"'
broken "a deadlock message and exit 0" 'the simulation deadlocked'
wrapper 'exit 0'
broken "nothing and exit 0" 'no result \(exit code 0\): the log is empty'
wrapper 'echo "some words" >&2; exit 3'
broken "words and exit 3" 'no result \(exit code 3\): some words'
# shellcheck disable=SC2016
wrapper 'kill -9 $$'
broken "killed" 'no result \(exit code -1\): '

# Hangs, and so do its children, which ignore a polite end.
# shellcheck disable=SC2016
wrapper "echo \$\$ >$here/pid" "(trap '' TERM; sleep 1000) & echo \$! >$here/pid2" 'sleep 1000'
start=$SECONDS
broken "hangs" 'stopped after time_limit = 2 s' --time-limit "2 s"
ok "hangs: stopped in time" test $((SECONDS - start)) -lt 15
gone "$(cat "$here/pid")" "hangs: it is ended"
gone "$(cat "$here/pid2")" "hangs: its child is ended too"
ok "hangs: the row has its wall time" awk -v s="$(cell engine_wall_s)" 'BEGIN { exit !(s >= 2 && s < 15) }'

# A result that is cut, or another program's.
# shellcheck disable=SC2016
wrapper 'for a; do case $a in --result=*) echo "[result" >"${a#--result=}";; esac; done'
fresh
# shellcheck disable=SC2086
capture timeout 60 "$ATTNRES" sim $point --platform "$data_dir/two.xml" -o dir
ok "a damaged result is no result" test "$status" -ne 0
ok "a damaged result is no ok row" test -z "$(cells dir/results.csv status | grep ok)"

# A result that contradicts its bound: exit code 1, and the row is there.
# shellcheck disable=SC2016
wrapper "$smpirun \"\$@\"" 'for a; do case $a in --result=*) sed -i "s/^step_s = .*/step_s = 1e-9/" "${a#--result=}";; esac; done'
fresh
# shellcheck disable=SC2086
fails_with 1 'the step is shorter than its lower bound' timeout 60 "$ATTNRES" sim $point \
    --platform "$data_dir/two.xml" -o dir
is "$(cells dir/results.csv status reason)" "failed	the step is shorter than its lower bound" "and a failed row"

rm "$here/bin/smpirun"
mkdir "$here/empty"
fresh
# shellcheck disable=SC2086
fails_with 4 'smpirun: cannot be started: No such file' env PATH="$here/empty" "$ATTNRES" sim $point \
    --platform "$data_dir/two.xml" -o dir

# The same with real SMPI programs.
if command -v smpicc >/dev/null && smpicc -o "$here/broken" "$data_dir/broken.c" 2>"$here/smpicc.log"; then
    printf '%s\n' h0 h1 >"$here/hosts"
    for what in deadlock abort exit crash; do
        wrapper "exec $smpirun -np 2 -platform $data_dir/two.xml -hostfile $here/hosts $here/broken $what"
        reason='no result \(exit code -?[0-9]+\): '
        [ "$what" != deadlock ] || reason='the simulation deadlocked'
        broken "SMPI, $what" "$reason" --time-limit "20 s"
    done
    wrapper "$smpirun -np 2 -platform $data_dir/two.xml -hostfile $here/hosts $here/broken hang & echo \$! >$here/pid
wait"
    broken "SMPI, hang" 'stopped after time_limit = 2 s' --time-limit "2 s"
    gone "$(cat "$here/pid")" "SMPI, hang: it is ended"
    is "$(pgrep -f "$here/broken hang")" "" "SMPI, hang: so is the program"
else
    skip "real SMPI programs" "no smpicc"
fi

# ---- interrupts ----

# A study whose third simulation hangs. Job control, so that the study is no
# background job that ignores SIGINT.
# shellcheck disable=SC2016
wrapper "echo x >>$here/count" "if [ \$(wc -l <$here/count) -ge 3 ]; then echo \$\$ >$here/pid; exec sleep 1000; fi" \
    "exec $smpirun \"\$@\""
printf '%s\n' '[study]' 'layers = 4' 'block = 2' 'width = 8' 'tokens = 4' 'stages = 2' \
    'microbatches = 1, 2, 3, 4, 5' "platform = $data_dir/two.xml" >"$here/s.ini"
for signal in INT TERM; do
    fresh
    rm -f "$here/count" "$here/pid"
    set -m
    "$ATTNRES" study "$here/s.ini" -o dir >out 2>err </dev/null &
    study=$!
    set +m
    for _ in $(seq 200); do
        [ ! -s "$here/pid" ] || break
        sleep 0.1
    done
    kill -s "$signal" "$study"
    wait "$study"
    status=$?
    is "$status" 4 "SIG$signal: exit code 4"
    like "$(cat err)" interrupted "SIG$signal: stderr says interrupted"
    is "$(cells dir/results.csv microbatches status | tr '\t\n' ': ')" "1:ok 2:ok " \
        "SIG$signal: the rows already measured are kept, no others"
    gone "$(cat "$here/pid")" "SIG$signal: the simulation is ended"
    is "$(ls "$TMPDIR")" "" "SIG$signal: no scratch files are left"
done

# A study goes on after a point that hangs.
fresh
rm -f "$here/count"
# shellcheck disable=SC2016
wrapper "echo x >>$here/count" "if [ \$(wc -l <$here/count) -eq 2 ]; then exec sleep 1000; fi" \
    "exec $smpirun \"\$@\""
{ cat "$here/s.ini" && echo 'time_limit = 3 s'; } >s.ini
fails_with 4 '1 of 5 points failed; their rows say why' "$ATTNRES" study s.ini -o dir
is "$(cells dir/results.csv status | tr '\n' ' ')" "ok failed ok ok ok " "one point hangs, the others have rows"
is "$(wc -l <dir/results.csv)" 6 "five rows under one header"
tap_done
