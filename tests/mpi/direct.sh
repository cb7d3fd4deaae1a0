#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# The rank program started by mpirun itself, as on a cluster.
. "$(dirname "$0")/../tap.sh"

rank=$(dirname "$ATTNRES")/mpi/attnres-rank
mpi() {
    local root=
    [ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
    # shellcheck disable=SC2086
    timeout -k 2 60 mpirun $root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 "$@"
}
point='--layers 8 --block 3 --width 32 --tokens 8 --microbatches 4 --forward-time 1ms --stages 2'
# shellcheck disable=SC2086
{
    ok "mpirun -n 2 attnres-rank -o DIR" mpi -n 2 "$rank" $point -o dir
    is "$(cell status) $(cell engine)" "ok openmpi" "a row"
    is "$(cell sent_bytes)" "$(cell planned_bytes)" "bytes as planned"
    ok "twice into one directory" mpi -n 2 "$rank" $point -o dir
    is "$(wc -l <dir/results.csv)" 3 "one header, two rows"
    ok "real" mpi -n 3 "$rank" --layers 8 --block 3 --width 32 --tokens 8 --microbatches 2 --stages 3 \
        --compute real --dtype fp32 --pass forward -o dir
    is "$(cell bitwise_equal)" yes "the same bits"

    # The first key that differs is named, with both values.
    mpi -n 1 "$rank" $point -o two : -n 1 "$rank" ${point/--width 32/--width 64} -o two >out 2>&1
    status=$?
    is "$status" 3 "ranks with different points: exit code 3"
    like "$(cat out)" 'rank 1 was given width = 64, rank 0 was given 32; all ranks must have the same' \
        "and the key is named"
    mpi -n 1 "$rank" $point --cache none -o two : -n 1 "$rank" ${point/--microbatches 4/--microbatches 2} \
        -o two >out 2>&1
    like "$(cat out)" 'rank 1 was given cache = own, rank 0 was given none' "two keys differ: the first is named"
    is "$(cat two/results.csv 2>/dev/null)" "" "no row is written"

    mpi -n 3 "$rank" $point -o three >out 2>&1
    is "$?" 2 "3 ranks for 2 stages: exit code 2"
    like "$(cat out)" 'stages = 2, but 3 ranks were started; legal: the same' "and both are said"
    mpi -n 1 "$rank" $point -o three >out 2>&1
    like "$(cat out)" 'stages = 2, but 1 ranks were started' "1 rank for 2 stages"
    mpi -n 2 "$rank" $point --cache all -o three >out 2>&1
    is "$?" 2 "a bad option: exit code 2"
    is "$(grep -c 'attnres-rank: --cache all: legal: none, received, own' out)" 1 "said once, by one rank"
    mpi -n 2 "$rank" $point -o /dev/null/x >out 2>&1
    is "$?" 4 "an unwritable directory: exit code 4"
    like "$(cat out)" '/dev/null/x: cannot make the directory' "and the path is said"
    is "$(cat three/results.csv 2>/dev/null)" "" "no row is written"
    mpi -n 2 "$rank" --layers 8 --block 4 --width 65536 --tokens 16 --stages 2 --compute real --dtype fp32 \
        --pass forward -o three >out 2>&1
    is "$?" 4 "more memory than there is: exit code 4"
    like "$(cat out)" 'compute = real needs 1536\.[0-9]+ GiB for 2 ranks' "with the figure, before it is allocated"
}
ok "--help" mpi -n 1 "$rank" --help
like "$(cat out)" '^Usage: mpirun -n P attnres-rank' "--help begins with the usage"
tap_done
