#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154,SC2016
# Simulated steps that can be worked out by hand. A message of n bytes over latency L
# and bandwidth B takes L + (n+16)/B from the later of its send and its receive.
. "$(dirname "$0")/../tap.sh"

# sim NAME OPTION...: a new directory with the row in dir/results.csv.
sim() {
    local name=$1
    shift
    fresh
    ok "$name: runs" "$ATTNRES" sim -o dir "$@"
}

# The standard residual, one layer in a chunk: a hop is one vector of d = 64, fp32;
# 4,096 tokens are 1 MiB, which takes x = 1,048,592/1e9 s.
line='--layers 12 --unit 1 --mechanism standard --width 64 --tokens 4096 --dtype fp32'
forward="$line --pass forward --forward-time 2ms"
x=$(calc '(4096 * 64 * 4 + 16) / 1e9')

# (a) Two ranks, one forward message.
# shellcheck disable=SC2086
{
    sim "one message" $forward --stages 2 --microbatches 1 --platform "$data_dir/two.xml"
    near "$(cell step_s)" "$(calc "2 * 2e-3 + 3e-6 + $x")" 1e-9 "step = 2 c + L + (n+16)/B"
    near "$(cell bound_s)" "$(calc "2 * 2e-3 + 3e-6 + $x")" 1e-12 "and so says the bound"
    near "$(cell exposed_comm_s)" "$(calc "3e-6 + $x")" 1e-9 "exposed = L + (n+16)/B"
    near "$(cell free_s)" 4e-3 1e-12 "F = 2 c"
    near "$(cell compute_s)" 2e-3 1e-9 "compute = c"
    near "$(cell bubble_percent)" 50 1e-12 "bubble 50 %"
    is "$(cell messages) $(cell sent_bytes) $(cell planned_bytes)" "1 1048576 1048576" "1 MiB is sent"
    is "$(cell overhead_percent)" 0 "the standard residual is its own baseline"
    sim "a tiny message" ${forward/--tokens 4096/--tokens 1} --stages 2 --microbatches 1 \
        --platform "$data_dir/two.xml"
    near "$(cell step_s)" "$(calc '4e-3 + 3e-6 + (256 + 16) / 1e9')" 1e-9 "256 B: the same rule"
    sim "there and back" $line --forward-time 2ms --backward-time 5ms --stages 2 --microbatches 1 \
        --platform "$data_dir/two.xml"
    near "$(cell step_s)" "$(calc "2 * 2e-3 + 2 * 5e-3 + 2 * (3e-6 + $x)")" 1e-9 \
        "train: 2 c + 2 b + 2 (L + (n+16)/B)"
    sim "a model that divides" $forward --stages 2 --microbatches 1 --platform "$data_dir/four.xml" \
        --tensor-parallel 2
    near "$(cell step_s)" "$(calc '4e-3 + 2e-6 + (524288 + 16) / 1e9')" 1e-9 \
        "tensor-parallel 2 halves the payload"
}

# (b) Bubbles, communication free.
# shellcheck disable=SC2086
{
    free='--platform free --forward-time 3ms'
    sim "1f1b, P=4, M=8" $line $free --stages 4 --microbatches 8 --schedule 1f1b
    near "$(cell bubble_percent)" "$(calc '300 / 11')" 1e-12 "bubble 3/11"
    near "$(cell free_s)" "$(calc '11 * 9e-3')" 1e-12 "F = (M+P-1)(c+b)"
    near "$(cell step_s)" "$(calc '11 * 9e-3')" 1e-7 "step = F"
    ok "exposed is 0 but for rounding" awk -v e="$(cell exposed_comm_s)" 'BEGIN { exit !(e > -1e-7 && e < 1e-7) }'
    near "$(cell compute_s)" "$(calc '8 * 9e-3')" 1e-6 "compute = M (c+b)"
    sim "interleaved, V=2" $line $free --stages 4 --virtual 2 --microbatches 8
    near "$(cell bubble_percent)" "$(calc '300 / 19')" 1e-12 "bubble (P-1)/V / (M + (P-1)/V) = 3/19"
    near "$(cell step_s)" "$(calc '19 * 9e-3')" 1e-7 "step = (V M + P-1)(c+b)"
    sim "gpipe, P=4, M=8" $line $free --stages 4 --microbatches 8 --schedule gpipe
    near "$(cell bubble_percent)" "$(calc '300 / 11')" 1e-12 "gpipe has the bubble of 1f1b"
    sim "forward only, P=4, M=8" $line $free --stages 4 --microbatches 8 --pass forward
    near "$(cell step_s)" "$(calc '11 * 3e-3')" 1e-7 "forward only: (M+P-1) c"
    sim "one rank" $line $free --stages 1 --virtual 4 --microbatches 2
    near "$(cell step_s)" "$(calc '2 * 4 * 9e-3')" 1e-7 "one rank: M V (c+b)"
    is "$(cell messages) $(cell sent_bytes) $(cell bubble_percent)" "0 0 0" "one rank: sends nothing, no bubble"
}

# (c) Halving the bandwidth of a link without latency.
# shellcheck disable=SC2086
{
    sim "1 GB/s" $forward --stages 2 --microbatches 1 --platform "$data_dir/two-zero.xml"
    fast=$(cell exposed_comm_s)
    sim "0.5 GB/s" $forward --stages 2 --microbatches 1 --platform "$data_dir/two-zero-half.xml"
    near "$fast" "$x" 1e-9 "transfer = (n+16)/B"
    near "$(cell exposed_comm_s)" "$(calc "2 * $fast")" 1e-9 "half the bandwidth, twice the time"
}

# (d) Two flows at once. P=3, M=2, forward, receives posted late: rank 1 ends micro-
# batch 0 at 2c+x; then its message to rank 2 and the second one from rank 0 start
# together. Separate links: x each, rank 1 goes on at 2c+2x, the last message takes
# 3c+2x .. 3c+3x, step 4c+3x. One link: both take 2x, and the step is 4c+4x.
# shellcheck disable=SC2086
{
    two="$forward --stages 3 --microbatches 2 --prefetch 0 --trace yes"
    wait_of='$1 == 1 && $2 == "wait" && $5 == 1 { printf "%.12g\n", $7 - $6 }' # rank 1, micro-batch 1
    sim "two links" $two --platform "$data_dir/three-separate.xml"
    near "$(cell step_s)" "$(calc "4 * 2e-3 + 3 * $x")" 1e-9 "separate links: step = 4c + 3x"
    near "$(awk -F, "$wait_of" "dir/$(cell timeline)")" "$x" 1e-6 "each flow takes x"
    near "$(cell step_s)" "$(cell bound_s)" 1e-9 "and the step is the bound"
    bound=$(cell bound_s)
    sim "one link" $two --platform "$data_dir/three-shared.xml"
    near "$(cell step_s)" "$(calc "4 * 2e-3 + 4 * $x")" 1e-9 "one link: step = 4c + 4x"
    near "$(awk -F, "$wait_of" "dir/$(cell timeline)")" "$(calc "2 * $x")" 1e-6 "each flow takes 2x"
    is "$(cell bound_s)" "$bound" "the bound does not know of sharing"
}

# (f) P=2, M=2, forward, c > x. Posted ahead, the second message arrives while rank 1
# computes: step 3c+x. Posted when it is wanted, it starts then: step 3c+2x.
# shellcheck disable=SC2086
{
    ahead="$forward --stages 2 --microbatches 2 --platform $data_dir/two-zero.xml"
    for prefetch in 0 1 2; do
        exposed=$x
        [ $prefetch -gt 0 ] || exposed=$(calc "2 * $x")
        sim "prefetch $prefetch" $ahead --prefetch $prefetch
        near "$(cell step_s)" "$(calc "3 * 2e-3 + $exposed")" 1e-9 "prefetch $prefetch: the step"
        near "$(cell exposed_comm_s)" "$exposed" 1e-9 "prefetch $prefetch: exposed"
        is "$(cell prefetch)" "$prefetch" "and it is in the row"
    done
}
tap_done
