#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# A simulated step equals the critical path where no two messages share a link, and
# is never shorter where they do.
. "$(dirname "$0")/../tap.sh"

# study LINE...: in dir/results.csv.
study() {
    local what=$1
    shift
    fresh
    printf '%s\n' '[study]' "$@" >s.ini
    ok "a study of $what: all rows" "$ATTNRES" study s.ini -o dir
}
common='layers = 24
block = 5
width = 256
tokens = 512'

# Every ordered pair of hosts has its link, and a chunk computes longer than a hop
# takes. SimGrid rounds each event to a nanosecond: 1e-5 of a step is far above.
study 'separate links' 'engine = sim' "$common" "platform = $data_dir/four.xml" \
    'forward_time = 20 ms' 'mechanism = standard, block' 'stages + virtual = 2 : 1, 3 : 2, 4 : 2' \
    'microbatches = 6' 'prefetch = 0, 1, 3' 'pass = train, forward' 2>/dev/null
is "$(cells dir/results.csv step_s bound_s | awk '{ d = $1 / $2 - 1; if (d < -1e-7 || d > 1e-5) n++ } END { print n + 0, "of", NR }')" \
    "0 of 36" "the step is the bound"
is "$(cells dir/results.csv bound_s free_s | awk '$1 < $2' | wc -l)" 0 "the bound is at least F"

study 'platforms that share' 'engine = sim' "$common" \
    'platform + host_stride = ethernet-25g : 1, ethernet-100g : 1, pcie-node : 8, nvlink-node : 1' \
    'mechanism + form = block : two-phase, full : one-pass' 'stages + virtual = 4 : 1, 4 : 2' \
    'cache = none, own' 'microbatches = 8'
is "$(cells dir/results.csv platform step_s bound_s |
    awk '$2 < $3 * (1 - 1e-6) { print } END { print NR }')" 32 "the step is never below the bound"
shared=$(cells dir/results.csv step_s bound_s | awk '$1 > $2 * 1.01' | wc -l)
ok "and sharing delays some steps ($shared)" test "$shared" -gt 0
tap_done
