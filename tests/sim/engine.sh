#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154,SC2317
# The rank program in the simulation: bytes sent are those planned, the same point
# gives the same row, real kernels give the same bits; settings, hosts, timeline.
. "$(dirname "$0")/../tap.sh"

small='--layers 12 --block 3 --width 64 --tokens 32 --microbatches 4'
sim() { "$ATTNRES" sim "$@"; }

# (g) Every mechanism, cache and schedule.
printf '%s\n' '[study]' 'engine = sim' 'layers = 13' 'block = 3' 'width = 64' 'tokens = 32' \
    'mechanism = standard, highway, denseformer, mhc, full, block' 'cache = none, received, own' \
    'schedule + virtual = gpipe : 2, 1f1b : 1, interleaved : 2' 'stages = 3' 'microbatches = 4' >s.ini
ok "a study of every mechanism, cache and schedule" "$ATTNRES" study s.ini -o dir
is "$(cells dir/results.csv status | sort | uniq -c | tr -s ' ')" " 54 ok" "54 rows, all ok"
is "$(cells dir/results.csv sent_bytes planned_bytes | awk '$1 != $2 || $1 == 0' | wc -l)" 0 \
    "bytes sent are bytes planned"
is "$(cells dir/results.csv peak_cache_bytes peak_hop_bytes exact_elements | awk 'NF != 3' | wc -l)" 0 \
    "no row lacks its peaks"

# The columns that the issue names, and those of a point.
head -n 1 dir/results.csv | tr ',' '\n' >columns
missing=
for column in model layers unit block width streams tokens dtype embedding mechanism cache stages \
    virtual microbatches schedule split remainder pass prefetch device platform hosts tensor_parallel \
    compute forward_time backward_time step_s compute_s exposed_comm_s bubble_percent \
    overhead_percent sent_bytes planned_bytes peak_hop_bytes peak_cache_bytes messages status reason \
    engine engine_version engine_settings version commit machine repetitions; do
    grep -qx "$column" columns || missing="$missing $column"
done
is "$missing" "" "results.csv has every column"
is "$(sort columns | uniq -d)" "" "and none twice"

# (h) The same again, but for what a clock says.
fresh
for n in 1 2; do
    # shellcheck disable=SC2086
    ok "the same point, $n" sim $small --stages 4 --virtual 2 --platform ethernet-25g --trace yes -o dir$n
done
names=$(head -n 1 dir1/results.csv | tr ',' '\n' | grep -Ev '^(engine_wall_s|engine_peak_bytes|date)$')
# shellcheck disable=SC2086
is "$(cells dir1/results.csv $names)" "$(cells dir2/results.csv $names)" "the same row"
ok "the same timeline" cmp dir1/timeline-1.csv dir2/timeline-1.csv
# shellcheck disable=SC2086
ok "a second run into the same directory" sim $small --stages 4 --virtual 2 --platform ethernet-25g \
    --trace yes -o dir1
is "$(cells dir1/results.csv timeline | tr '\n' ' ')" "timeline-1.csv timeline-2.csv " \
    "appends its row and keeps the first timeline"
is "$(wc -l <dir1/results.csv)" 3 "one header, two rows"
is "$(head -n 1 dir1/timeline-1.csv)" "rank,kind,pass,chunk,microbatch,start_s,end_s" "header of a timeline"
# 4 ranks, 2 chunks each, 4 micro-batches, forward and backward.
is "$(grep -c ',compute,' dir1/timeline-1.csv)" 64 "every compute is in the timeline"
near "$(awk -F, 'NR > 1 && $7 > t { t = $7 } END { printf "%.12g", t }' dir1/timeline-1.csv)" \
    "$(cell step_s dir1/results.csv)" 1e-6 "the timeline ends with the step"

# (i) Real kernels inside the simulation.
fresh
printf '%s\n' '[study]' 'engine = sim' 'layers = 9' 'unit = 1' 'block = 4' 'width = 48' 'tokens = 11' \
    'dtype = fp32' 'pass = forward' 'compute = real' 'microbatches = 3' \
    'stages + virtual = 1 : 1, 3 : 2' 'cache = none, own' \
    'mechanism + form = standard : two-phase, block : one-pass, block : two-phase, full : one-pass, full : two-phase' >s.ini
ok "real kernels" "$ATTNRES" study s.ini -o dir
is "$(cells dir/results.csv bitwise_equal | sort | uniq -c | tr -s ' ')" " 20 yes" \
    "the same bits as a single process, in 20 rows"
is "$(cells dir/results.csv max_rel_error tolerance | awk 'NF != 2 || $1 > $2 || $2 > 1e-3' | wc -l)" 0 \
    "within the tolerance of the reference"
is "$(cells dir/results.csv sent_bytes planned_bytes | awk '$1 != $2' | wc -l)" 0 "bytes as planned"
is "$(cells dir/results.csv step_s | awk '$1 <= 0' | wc -l)" 0 "the kernels' time is charged"

# (k) Settings are recorded; SMPI's own network model works and is another one.
fresh
# shellcheck disable=SC2086
{
    ok "explicit" sim $small --stages 2 --platform "$data_dir/two.xml" -o dir
    explicit=$(cell step_s)
    like "$(cell engine_settings)" 'smpi/bw-factor:0:1 .*smpi/lat-factor:0:1 .*network/crosstraffic:0' \
        "explicit: the settings are in the row"
    is "$(cell engine)" smpi "engine"
    like "$(cell engine_version)" '^SimGrid [0-9]+\.[0-9]+$' "engine version"
    ok "default" sim $small --stages 2 --platform "$data_dir/two.xml" --engine-model default -o dir
    is "$(cell engine_model)" default "default: in the row"
    ok "default: none of the explicit settings" test -z "$(cell engine_settings | grep bw-factor)"
    ok "default: another step" awk -v a="$explicit" -v b="$(cell step_s)" 'BEGIN { exit !(b > 0 && a != b) }'

    # Hosts by file and by stride: h1 -> h0 goes over another link than h0 -> h1.
    sed '/id="l10"/s/bandwidth="1GBps"/bandwidth="1MBps"/' "$data_dir/two.xml" >p.xml
    message='--layers 2 --unit 1 --mechanism standard --width 64 --tokens 4096 --dtype fp32 --pass forward
        --forward-time 2ms --stages 2 --microbatches 1'
    ok "hosts in file order" sim $message --platform ./p.xml -o dir
    near "$(cell step_s)" "$(calc '4e-3 + 3e-6 + 1048592 / 1e9')" 1e-9 "h0 to h1"
    printf '%s\n' '# the other way' '' h1 h0 >hosts
    ok "--hosts FILE" sim $message --platform ./p.xml --hosts hosts -o dir
    near "$(cell step_s)" "$(calc '4e-3 + 3e-6 + 1048592 / 1e6')" 1e-9 "h1 to h0"
    is "$(cell hosts)" hosts "the file is in the row"
    sed '/id="l02"/s/latency="2us"/latency="1s"/' "$data_dir/four.xml" >q.xml
    ok "--host-stride 2" sim $message --platform ./q.xml --host-stride 2 -o dir
    near "$(cell step_s)" "$(calc '4e-3 + 1 + 1048592 / 1e9')" 1e-9 "h0 to h2"
    ok "--repetitions" sim $message --platform ./p.xml --repetitions 3 -o dir
    near "$(cell step_min_s)" "$(cell step_max_s)" 1e-9 "repetitions of a simulation are the same"
    is "$(cell repetitions)" 3 "and in the row"
}
like "$(cell version) $(cell commit) $(cell date)" '^[0-9.]+ [0-9a-z]+ 20[0-9-]+T[0-9:]+Z$' "version, commit, date"
like "$(cell machine)" 'Linux .* cores' "machine"

# 256 ranks are no trouble; the point's rows need no more than one process.
fresh
ok "256 ranks" sim --layers 512 --block 16 --width 1024 --tokens 4096 --stages 256 --microbatches 16 \
    --platform free -o dir
is "$(cell status) $(cell messages)" "ok 8160" "255 hops, 16 micro-batches, both ways"
tap_done
