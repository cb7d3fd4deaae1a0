#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# Real ranks through `attnres run`: bytes are counted, bits are compared. Times are
# not: there are more ranks than cores.
. "$(dirname "$0")/../tap.sh"

rows() { cells dir/results.csv "$@"; }

# Modelled compute.
printf '%s\n' '[study]' 'engine = run' 'layers = 12' 'block = 3' 'width = 64' 'tokens = 32' \
    'mechanism + cache = standard : none, block : own, full : received, mhc : none' \
    'stages + virtual + schedule = 3 : 1 : 1f1b, 2 : 2 : interleaved' 'microbatches = 4' \
    'forward_time = 1 ms' >s.ini
ok "modelled compute" "$ATTNRES" study s.ini -o dir
is "$(rows status | sort | uniq -c | tr -s ' ')" " 8 ok" "8 rows, all ok"
is "$(rows sent_bytes planned_bytes | awk '$1 != $2 || $1 == 0' | wc -l)" 0 "bytes sent are bytes planned"
is "$(rows step_s free_s | awk '$1 < $2' | wc -l)" 0 "no step is shorter than its free path"
is "$(rows engine | sort -u)" openmpi "engine"
like "$(rows engine_version | head -n 1)" '^Open MPI ' "engine version"

# Eight ranks, a rendezvous-sized hop, and a timeline.
fresh
ok "8 ranks" "$ATTNRES" run --layers 16 --block 4 --width 256 --tokens 512 --stages 8 --virtual 1 \
    --microbatches 8 --forward-time 1ms --trace yes -o dir
is "$(cell status) $(cell messages)" "ok 112" "8 ranks: 7 hops, 8 micro-batches, both ways"
like "$(cell timeline)" '^timeline-1\.csv$' "--trace yes: the timeline is named"
is "$(head -n 1 dir/timeline-1.csv)" "rank,kind,pass,chunk,microbatch,start_s,end_s" "its header"
is "$(grep -c ',compute,' dir/timeline-1.csv)" 128 "every compute is in it"
is "$(awk -F, 'NR > 1 && ($6 < 0 || $7 < $6)' dir/timeline-1.csv | wc -l)" 0 "its times run forward"
ok "modelled seconds pass" awk -v c="$(cell compute_s)" 'BEGIN { exit !(c >= 8 * 3e-3) }'

# Real kernels: every cache policy and shape gives the bits of a single process.
fresh
printf '%s\n' '[study]' 'engine = run' 'layers = 9' 'unit = 1' 'block = 4' 'width = 48' 'tokens = 11' \
    'dtype = fp32' 'pass = forward' 'compute = real' 'microbatches = 3' \
    'mechanism + form = standard : two-phase, block : one-pass, block : two-phase, full : one-pass, full : two-phase' \
    'stages + virtual + cache + embedding = 1:1:none:yes, 2:1:received:yes, 2:2:none:no, 2:2:own:yes, 3:3:none:yes, 3:3:received:no, 3:3:own:yes, 4:2:own:no' >s.ini
ok "real compute" "$ATTNRES" study s.ini -o dir
is "$(rows bitwise_equal | sort | uniq -c | tr -s ' ')" " 40 yes" "the same bits in 40 rows"
is "$(rows status bitwise_equal mechanism form stages virtual cache embedding reason | grep -v '^ok	yes')" "" \
    "no row differs"
is "$(rows max_rel_error tolerance | awk 'NF != 2 || $1 > $2 || $2 > 1e-3' | wc -l)" 0 \
    "within the tolerance of the reference"
is "$(rows sent_bytes planned_bytes | awk '$1 != $2' | wc -l)" 0 "bytes sent are bytes planned"

# Vectors stored and sent as bf16: half the bytes, the same bits again.
printf '%s\n' '[study]' 'engine = run' 'layers = 9' 'unit = 1' 'block = 4' 'width = 48' 'tokens = 11' \
    'pass = forward' 'compute = real' 'microbatches = 2' \
    'mechanism + form = standard : two-phase, block : two-phase, full : two-phase' \
    'dtype + stages + virtual + cache = fp32:2:2:own, bf16:2:2:own, bf16:2:2:none, bf16:3:3:received' >s.ini
ok "real compute in bf16" "$ATTNRES" study s.ini -o half
is "$(cells half/results.csv status bitwise_equal | sort | uniq -c | xargs)" "12 ok yes" \
    "the same bits in 12 rows"
is "$(cells half/results.csv dtype max_rel_error tolerance |
    awk '$2 > $3 || ($1 == "bf16" && ($2 < 1e-3 || $3 > 0.04))' | wc -l)" 0 \
    "bf16 is off the reference by its roundings"
is "$(cells half/results.csv mechanism stages cache dtype sent_bytes | awk '$2 == 2 && $3 == "own" {
    b[$1 $4] = $5 } END { print b["blockfp32"] / b["blockbf16"], b["fullfp32"] / b["fullbf16"] }')" \
    "2 2" "and half the bytes on the wire"

fresh
common='--layers 8 --block 3 --width 32 --tokens 8 --compute real --dtype fp32 --pass forward --microbatches 2'
# shellcheck disable=SC2086
ok "real compute with empty chunks, 8 ranks" "$ATTNRES" run $common --stages 8 -o dir
is "$(cell bitwise_equal)" yes "8 ranks, 4 units: the same bits"
# shellcheck disable=SC2086
ok "real compute, late receives, gpipe" "$ATTNRES" run $common --stages 2 --virtual 2 --schedule gpipe \
    --prefetch 0 --split 2,1,0,1 --seed 7 -o dir
is "$(cell bitwise_equal)" yes "the same bits"

# A run that takes too long is stopped, and so are its ranks.
fresh
fails_with 4 'stopped after time_limit = 2 s' "$ATTNRES" run --layers 4 --block 2 --width 8 --tokens 4 \
    --stages 2 --forward-time 1000s --time-limit "2 s" -o dir
is "$(cell status)" failed "it is a failed row"
rank=$(dirname "$ATTNRES")/mpi/attnres-rank
like "$(cell reason)" 'stopped after time_limit = 2 s' "with its reason"
for _ in $(seq 50); do
    left=$(pgrep -f "^$rank --point=.*" || :)
    [ -n "$left" ] || break
    sleep 0.1
done
is "$left" "" "no rank is left"
tap_done
