#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# The counts of what crosses the hops, through the command line.
. "$(dirname "$0")/../tap.sh"

totals() { "$ATTNRES" plan --show totals --format csv "$@" 2>err; }
# Blocks + partial sums of none, received and own.
counts() { totals "$@" | cells - blocks partial | tr '\t\n' '+ ' | sed 's/ $//'; }
column() { totals "${@:2}" | cells - "$1" | tr '\n' ' ' | sed 's/ $//'; }

# One block per chunk: 2 layers in a unit, S = 2, as many units as chunks.
each() { echo --layers $((2 * $1 * $2)) --block 2 --width 8 --tokens 4 --embedding no --stages "$1" --virtual "$2"; }
# shellcheck disable=SC2046
{
    is "$(counts $(each 4 2))" "28+0 22+0 18+0" "one block per chunk, P,V = 4,2"
    is "$(counts $(each 4 4))" "120+0 54+0 42+0" "4,4"
    is "$(counts $(each 8 4))" "496+0 220+0 196+0" "8,4"
    is "$(counts $(each 4 1))" "6+0 6+0 6+0" "4,1: nothing to save"
    is "$(counts $(each 1 4))" "0+0 0+0 0+0" "1,4: nothing on a wire"
    for shape in '4 2' '4 4' '8 4' '4 1'; do
        # shellcheck disable=SC2086
        is "$(column formula_vectors $(each $shape))" "$(column vectors $(each $shape))" \
            "the closed form and the exact count are the same, P V = $shape"
    done
    is "$(column saved_percent $(each 4 1))" "0.0 0.0 0.0" "4,1 saves 0.0 %, not NaN"
    is "$(column saved_percent $(each 1 4))" "0.0 0.0 0.0" "1,4 saves 0.0 %, not NaN"
    is "$(column formula_vectors $(each 1 4))" "6 3 0" "1,4: the closed forms are shown all the same"
    text=$("$ATTNRES" plan $(each 1 4) --show totals 2>&1)
    like "$text" 'one rank: nothing on a wire' "1,4: and the table says why"
}

fig3='--layers 16 --block 4 --width 8 --tokens 4 --stages 4 --virtual 2'
k3='--model kimi-k3'
# shellcheck disable=SC2086
{
    is "$(counts $fig3)" "19+4 13+4 11+4" "figure 3, with the embedding"
    is "$(counts $k3 --stages 8 --virtual 4 --remainder first)" "143+24 59+24 53+24" "Kimi K3, 8,4"
    is "$(counts $k3 --stages 8 --virtual 4 --remainder last)" "136+24 57+24 52+24" \
        "Kimi K3, 8,4, remainder in the last chunks"
    is "$(counts $k3 --stages 4 --virtual 4)" "70+9 28+9 22+9" "Kimi K3, 4,4"
    is "$(counts $k3 --stages 16 --virtual 2)" "143+24 103+24 99+24" "Kimi K3, 16,2"
    is "$(column vectors $k3 --stages 8 --virtual 4)" "167 83 77" "Kimi K3, 8,4: vectors"
}

# One block and the stream: 8,192 tokens, d = 7,168, bf16.
is "$("$ATTNRES" plan --layers 8 --block 2 --unit 1 --width 7168 --tokens 8192 --stages 2 --split 3,5 \
    --embedding no --show hops --format csv | cells - blocks partial bytes)" "1	1	234881024" \
    "bytes of one block and the stream"
is "$("$ATTNRES" plan --layers 60 --mechanism standard --width 8 --tokens 1 --stages 4 --show memory \
    --format csv | cells - activation_bytes | tr '\n' ' ')" "2048 1536 896 448 " \
    "30 units over 4 stages are 8,8,7,7"
is "$("$ATTNRES" plan --layers 54 --block 6 --width 8 --tokens 1 --stages 8 --virtual 4 --show hops \
    --format csv | wc -l)" 32 "27 units over 32 chunks: empty chunks pass on"

is "$(totals --layers 8 --block 4 --width 8 | head -n 1)" \
    "cache,hops,blocks,partial,vectors,bytes,peak_vectors,formula_vectors,saved_percent" \
    "header of totals"
is "$("$ATTNRES" plan --layers 8 --block 4 --width 8 --show hops --format csv | head -n 1)" \
    "hop,from_chunk,to_chunk,from_rank,to_rank,blocks,partial,vectors,bytes,block_ids" "header of hops"
is "$(totals --layers 8 --block 4 --width 8 | cells - cache | tr '\n' ' ')" "none received own " \
    "a row per policy"

# Large plans.
start=$SECONDS
ok "1,024 stages, V = 2, M = 64: a plan" timeout 20 "$ATTNRES" plan --model kimi-k3 --stages 1024 \
    --virtual 2 --microbatches 64 --show hops
ok "1,024 stages: memory" timeout 20 "$ATTNRES" plan --layers 2048 --block 16 --width 1024 --stages 1024 \
    --microbatches 128 --show memory
if have_platforms; then
    ok "1,024 stages: the critical path" timeout 20 "$ATTNRES" plan --layers 2048 --block 16 \
        --width 1024 --stages 1024 --platform free --show totals
    like "$(cat out)" '^bound_s +[0-9.]+ ' "with its bound"
fi
ok "128 stages: the plan is proved on demand" timeout 60 "$ATTNRES" plan --layers 256 --block 16 \
    --width 64 --stages 128 --virtual 2 --microbatches 16 --check yes --show totals --format csv
ok "large plans took less than 30 s" test $((SECONDS - start)) -lt 30

# Every small combination is proved.
combinations=0
broken=
for mechanism in standard mhc full block; do
    for shape in '1 1' '2 1' '3 1' '2 3' '3 2' '4 2'; do
        # shellcheck disable=SC2086
        set -- $shape
        for schedule in gpipe interleaved; do
            combinations=$((combinations + 1))
            "$ATTNRES" plan --layers 11 --block 3 --width 8 --tokens 4 --mechanism "$mechanism" \
                --stages "$1" --virtual "$2" --microbatches 5 --schedule "$schedule" --prefetch 2 \
                --cache received --check yes --show totals --format csv >/dev/null 2>err ||
                broken="$broken $mechanism $shape $schedule: $(tail -n 1 err)"
        done
    done
done
is "$broken" "" "the checker proves $combinations plans"
tap_done
