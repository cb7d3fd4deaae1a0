#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# What `attnres plan` prints for small points, compared with golden/*.txt. After an
# intended change: ATTNRES=build/attnres tests/cli/golden.sh --update, and read the diff.
. "$(dirname "$0")/../tap.sh"

golden=$tests_dir/cli/golden
update=${1:-}
cd "$tests_dir" || exit 2 # platforms are named as data/...

# check NAME OPTION...: of attnres plan.
check() {
    local name=$1 text
    shift
    text=$("$ATTNRES" plan "$@" 2>&1)
    if [ "$update" = --update ]; then
        { echo "\$ attnres plan $*" && printf '%s\n' "$text"; } >"$golden/$name.txt"
    fi
    text=$({ echo "\$ attnres plan $*" && printf '%s\n' "$text"; } | diff "$golden/$name.txt" - 2>&1)
    if [ -z "$text" ]; then pass "$name"; else fail "$name" "$text"; fi
}

# The paper's figure 3: P = 4, V = 2, a block spans two chunks.
fig3='--layers 16 --block 4 --width 8 --tokens 4 --stages 4 --virtual 2 --microbatches 4'
tiny='--layers 8 --block 3 --width 8 --tokens 4 --stages 2 --microbatches 3'
# shellcheck disable=SC2086
{
    for cache in none received own; do
        check "hops-fig3-$cache" $fig3 --cache $cache --show hops
    done
    check hops-fig3-csv $fig3 --show hops --format csv
    check hops-fig3-no-embedding $fig3 --show hops --embedding no
    check hops-one-rank --layers 8 --block 3 --width 8 --tokens 4 --stages 1 --virtual 4 \
        --microbatches 1 --show hops
    for mechanism in standard highway denseformer mhc full; do
        check "hops-$mechanism" $tiny --mechanism $mechanism --show hops
    done
    check hops-empty-chunks --layers 5 --unit 2 --block 2 --width 8 --tokens 4 --stages 2 --virtual 2 \
        --microbatches 2 --show hops
    check hops-split --layers 16 --block 4 --width 8 --tokens 4 --stages 4 --split 2,3,2,1 --show hops
    check totals-fig3-csv $fig3 --show totals --format csv
    check memory-fig3 $fig3 --show memory
    check memory-fig3-csv $fig3 --show memory --format csv
    check memory-forward $fig3 --pass forward --cache none --show memory
    check actions $tiny --show actions
    check actions-rank-csv $tiny --show actions --rank 1 --format csv
    check actions-forward --layers 8 --block 3 --width 8 --tokens 4 --stages 2 --microbatches 2 --pass forward --prefetch 0 --virtual 2 --show actions --rank 0
    if have_platforms; then
        free='--platform free --forward-time 1s --columns 66'
        check totals-fig3 $fig3 $free --show totals
        check timeline-1f1b $tiny $free --show timeline
        check timeline-gpipe $tiny $free --schedule gpipe --show timeline
        check timeline-interleaved $fig3 $free --show timeline
        check timeline-forward-csv $tiny $free --pass forward --show timeline --format csv
        check timeline-message --layers 2 --unit 1 --mechanism standard --width 1000 --tokens 1Mi \
            --stages 2 --microbatches 2 --platform data/two.xml --forward-time 1s --columns 60 \
            --show timeline
    else
        skip "totals and timelines" "built without SimGrid"
    fi
}
tap_done
