#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154,SC2317
# The cache simulator sees what the exact count says, within 1 %: forward for every mechanism and
# form with kernels, backward for some of them.
. "$(dirname "$0")/../tap.sh"

# 6 layers in blocks of 4: a last block with a remainder. A vector is four times the cache, and so
# wide that mHC's coefficients, 48 numbers a token, are within the tolerance: counts leave them out.
simulate() {
    capture "$ATTNRES" bench --layers 6 --block 4 --tokens 1024 --width 1024 --traffic cachesim \
        --roof-set 1MB --min-repetitions 1 --max-repetitions 1 --bind no --allow-cached yes \
        --format csv "$@"
}

compare() {
    while IFS=$'\t' read -r mechanism form way state exact measured note; do
        [ "$state" = absent ] && continue
        near "$measured" "$exact" 0.01 "$way, $mechanism $form: $measured of $exact ($note)"
    done < <(cells out mechanism form direction status exact_elements measured_elements \
        traffic_note)
}

if ! command -v valgrind >/dev/null; then
    skip "simulated traffic is the exact count" "no valgrind"
elif case $ATTNRES in */asan/*) true ;; *) false ;; esac then
    skip "simulated traffic is the exact count" "a sanitizer does not run under valgrind"
else
    simulate
    is "$status" "0" "bench --traffic cachesim"
    compare
    is "$(cells out status | sort -u | grep -vc absent)" "1" "at least one mechanism was measured"
    capture "$ATTNRES" bench --mechanism full --form one-pass --variant sliding-window,own-query \
        --window 2 --layers 6 --tokens 1024 --width 512 --traffic cachesim --roof-set 1MB \
        --min-repetitions 1 --max-repetitions 1 --bind no --allow-cached yes --format csv
    is "$(cells out variant | xargs)" "sliding-window own-query" "two variants"
    while IFS=$'\t' read -r variant exact measured; do
        near "$measured" "$exact" 0.01 "$variant: $measured of $exact"
    done < <(cells out variant exact_elements measured_elements)
    simulate --direction backward --mechanism standard,block --form two-phase
    is "$status" "0" "bench --direction backward --traffic cachesim"
    compare
    is "$(cells out status | sort | uniq -c | tr -d ' ')" "2ok" "both were measured"
    simulate --direction backward --mechanism block --form two-phase --phase 1,2
    compare
    is "$(cells out phase status | tr '\t\n' ' ,')" "1 ok,2 ok," "and each phase alone"
    simulate --direction backward --mechanism full --form one-pass --variant own-query,sigmoid
    compare
    is "$(cells out variant status | tr '\t\n' ' ,')" "own-query ok,sigmoid ok," "and variants"
fi
tap_done
