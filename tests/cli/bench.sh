#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154,SC2317
# attnres bench and attnres mixing: options, rows, failed rows, the report.
. "$(dirname "$0")/../tap.sh"

bench() { "$ATTNRES" bench --layers 6 --width 48 --roof-set 1MB --min-repetitions 3 \
    --max-repetitions 3 --bind no --allow-cached yes "$@"; }

ok "bench --help" "$ATTNRES" bench --help
is "$(awk 'length > 100' out)" "" "bench --help has no long lines"
fails_with 2 'legal: all, or a list of standard, ' "$ATTNRES" bench --mechanism blok
fails_with 2 '--tokens 0: .*legal' "$ATTNRES" bench --tokens 0
fails_with 2 '--width 8,x: |--width x: ' "$ATTNRES" bench --width 8,x
fails_with 2 'none of these mechanisms has it' bench --mechanism block --form one-pass --phase 1
ok "unfused mHC" bench --mechanism mhc --form unfused --tokens 64 --streams 2,4 --format csv
is "$(cells out form streams exact_elements reason | tr '\t\n' ' ,')" "unfused 2 18 ,unfused 4 34 ," \
    "8m + 2"
ok "all variants" bench --variant all --window 2 --tokens 64 --block 4 --format csv
is "$(cells out status | sort -u)" "ok" "all ok"
is "$(cells out mechanism form variant window exact_elements paper_elements | tr '\t' ' ' |
    grep -E 'highway|one-pass' | grep -v ' none ' | tr '\n' ,)" \
    "full one-pass sliding-window 2 3.5 ,full one-pass own-query 0 5.5 ,block one-pass own-query 0 5.66666667 ,full one-pass sigmoid 0 4.5 ,block one-pass sigmoid 0 4.66666667 ,full one-pass raw-keys 0 4.5 ,block one-pass raw-keys 0 4.66666667 ,highway - scalar-gate 0 3 ," \
    "their counts: less with a window, one read more and one less"
ok "into a report" bench --mechanism highway,full --form one-pass --variant all --window 2 \
    --tokens 64 -o variants
ok "report of variants" "$ATTNRES" report variants
like "$(cat variants/report.md)" '\| full +\| one-pass, sliding-window 2 ' "a variant has its line"
like "$(cat variants/report.md)" '\| highway +\| scalar-gate ' "and so where there is one form"
fails_with 2 'none of these mechanisms has it' bench --mechanism standard --variant sigmoid
ok "backward, each phase alone" bench --direction backward --phase all,1,2 --mechanism block,mhc \
    --form two-phase,fused,unfused --block 2 --tokens 64 --format csv
is "$(cells out mechanism form phase exact_elements status | tr '\t\n' ' ,')" \
    "block two-phase all 7.5 ok,block two-phase 1 4 ok,block two-phase 2 3.5 ok,mhc fused all 19.6666667 ok," \
    "the phases of Block add up; unfused mHC has no backward"
ok "backward of all variants" bench --direction backward --variant all --window 2 --tokens 64 \
    --block 4 --dtype fp32,bf16 --format csv
is "$(cells out status | sort -u)" "ok" "all ok"
is "$(cells out mechanism form variant exact_elements | tr '\t' ' ' | sort -u |
    grep -E 'highway|mhc|one-pass' | grep -v ' none ' | tr '\n' ,)" \
    "block one-pass own-query 11,block one-pass raw-keys 9,block one-pass sigmoid 7,full one-pass own-query 15.5,full one-pass raw-keys 8.5,full one-pass sigmoid 6.5,full one-pass sliding-window 7.5,highway - scalar-gate 6.33333333,mhc fused unconstrained 19.6666667," \
    "their counts"
fails_with 2 '--variant soft: legal: all, or a list of none, sliding-window' bench --variant soft
fails_with 2 '--window 0: .*legal: 1 to 1000000' bench --window 0
fails_with 2 'did you mean' "$ATTNRES" bench --token 5

fresh
ok "two mechanisms, two lengths, one and two layers in a block" bench --mechanism standard,block \
    --tokens 32,64 --block 1,2 --phase all,1 --format csv -o dir
cp out rows.csv
is "$(sed 1q rows.csv | cut -d, -f1-18)" \
    "mechanism,form,layers,blocks,tokens,width,dtype,threads,paper_elements,exact_elements,fused_elements,measured_elements,median_s,roof_percent,gflops,max_rel_error,tolerance,status" \
    "the columns, in their order"
is "$(cat dir/bench.csv)" "$(cat rows.csv)" "DIR/bench.csv holds the same"
# standard once for each length; block: two lengths, two S, three forms, phase 1 of one of them
is "$(cells rows.csv mechanism | sort | uniq -c | xargs)" "16 block 2 standard" "every combination once"
is "$(cells rows.csv status | sort -u)" "ok" "all ok"
is "$(cells rows.csv repetitions | sort -u)" "3" "three repetitions each"
ok "again" bench --mechanism standard --tokens 64 -o dir
is "$(cells dir/bench.csv mechanism | wc -l)" "19" "a row is appended"
ok "report of bench.csv alone" "$ATTNRES" report dir
like "$(cat dir/report.md)" '^## Kernels on this machine' "it has the kernels' section"
echo "some,other,columns" >dir/bench.csv
fails_with 3 'has other columns' bench --mechanism standard --tokens 64 -o dir

fresh
fails_with 4 '1 of 1 rows failed' bench --mechanism block --block 3 --tokens 64 --form two-phase --poison 1 -o dir
is "$(cells dir/bench.csv status reason)" \
    "failed	source 1 is not a number at token 0, element 0" "the failed row names the source"
fails_with 4 '1 of 1 rows failed' bench --mechanism standard --threads 999 --tokens 2000
like "$(cat out)" '999 threads on [0-9]+ cores' "too many threads: the row says so"
fails_with 4 '1 of 1 rows failed' "$ATTNRES" bench --mechanism standard --tokens 1 --layers 1 --block 1
like "$(cat out)" 'fit the last-level cache.*--allow-cached yes' "what fits the cache is refused"
ok "counters" bench --mechanism standard --tokens 64 --traffic papi --format csv
like "$(cells out traffic traffic_note)" 'papi|not measured: .*(needed|built without PAPI)' \
    "bytes from counters, or why not"
ok "no valgrind" env PATH=/nowhere "$ATTNRES" bench --mechanism standard --layers 2 --block 2 \
    --tokens 1024 --width 256 --roof-set 1MB --max-repetitions 3 --min-repetitions 1 --bind no \
    --allow-cached yes --traffic cachesim
like "$(cat err)" 'needs valgrind .*apt install valgrind' "says so and how to get it"
fails_with 2 'not by hand' "$ATTNRES" cachesim-subject

fresh
ok "mixing" "$ATTNRES" mixing --layers 12 --block 4 -o dir
is "$(cells dir/mixing.csv mechanism rank agrees | tr '\t\n' ' ,')" \
    "standard 1 yes,highway 1 yes,denseformer 6 yes,mhc 4 yes,full 6 yes,block 3 yes," "ranks"
is "$(cells dir/mixing-matrix.csv mechanism | sort | uniq -c | awk '{ print $1 }' | sort -u)" "78" \
    "12 x 13 / 2 entries each"
ok "mixing to stdout" "$ATTNRES" mixing --mechanism standard --layers 2 --format csv
is "$(cells out layer v weight | xargs)" "1 0 1 2 0 1 2 1 1" "a matrix of ones"
ok "report of mixing.csv alone" "$ATTNRES" report dir
like "$(cat dir/report.md)" '^!\[mixing matrix, block\]\(plots/mixing-block.svg\)' "it has a heat map"
is "$(grep -c '<rect' dir/plots/mixing-block.svg)" "80" "of 78 cells"
fails_with 2 'legal: 1 to 512' "$ATTNRES" mixing --layers 0
tap_done
