#!/bin/sh
# How fast the simulator and the planner are, for P = 256, V = 1, M = 256: figures of this
# machine at this moment.
set -eu
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
point='--layers 256 --unit 1 --width 1024 --tokens 1024 --mechanism standard --stages 256
  --microbatches 256 --platform torus-3d'

# shellcheck disable=SC2086 # a list of options
"$build/attnres" sim $point -o "$dir" >/dev/null
column() { # value of a named column in the last row; these columns hold no commas
    awk -v name="$1" -F '","|,' '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        END { print $c }' "$dir/results.csv"
}
messages=$(column messages) wall=$(column engine_wall_s) peak=$(column engine_peak_bytes)
echo "$messages $wall $peak" | awk '{
    printf "simulated: %d messages in %.2f s: %.0f a second, peak %.0f MB\n", $1, $2, $1 / $2, $3 / 1e6 }'

start=$(date +%s.%N)
# shellcheck disable=SC2086
"$build/attnres" plan $point >/dev/null
end=$(date +%s.%N)
echo "$messages $start $end" | awk '{
    printf "planned: the critical path over %d messages twice (free, platform) in %.2f s\n", $1, $3 - $2 }'
