#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154,SC2317
# Bad input: every case is one line, "exit code :: what stderr must match :: command".
# A message says where, what was read and what is legal. Codes: 2 options, 3 files,
# 4 the machine or the output.
. "$(dirname "$0")/../tap.sh"

# A small point; what a case gives of its own stands in its line.
attnres() { limited "$ATTNRES" "$@"; }
plan() { attnres plan --layers 8 --block 4 --width 64 "$@"; }
small() { plan --tokens 16 --stages 2 "$@"; }

# device KEY VALUE: d.ini is the H100 with one value changed, or with a line added.
h100=$tests_dir/../topologies/devices/h100-sxm.ini
device() {
    if grep -q "^$1 *=" "$h100"; then sed "s|^$1 *=.*|$1 = $2|" "$h100" >d.ini
    else { cat "$h100" && echo "$1 = $2"; } >d.ini; fi
}

# platform BANDWIDTH LATENCY: p.xml is two hosts and one link.
platform() {
    sed -e "s|bandwidth=\"[^\"]*\"|bandwidth=\"$1\"|" -e "s|latency=\"[^\"]*\"|latency=\"$2\"|" \
        "$data_dir/two.xml" >p.xml
}

# file NAME LINE...
file() {
    local name=$1
    shift
    printf '%s\n' "$@" >"$name"
}

study() {
    file s.ini "$@"
    attnres study s.ini -o out.dir
}

# table GROUP: the cases on stdin, each in a new directory, two at a time.
table() {
    local codes=() regexes=() commands=() line i
    while IFS= read -r line; do
        codes+=("${line%% :: *}")
        line=${line#* :: }
        regexes+=("${line%% :: *}")
        commands+=("${line#* :: }")
    done
    for i in "${!commands[@]}"; do
        [ "$i" -lt 2 ] || wait -n
        (
            mkdir "$tap_dir/$1.$i" && cd "$tap_dir/$1.$i" || exit
            capture eval "${commands[$i]}"
            echo "$status" >"$tap_dir/$1.$i.status"
        ) &
    done
    wait
    for i in "${!commands[@]}"; do
        status=$(cat "$tap_dir/$1.$i.status")
        if [ "$status" = "${codes[$i]}" ] && grep -Eq -e "${regexes[$i]}" "$tap_dir/$1.$i/err"; then
            pass "$1: ${commands[$i]}"
        else
            fail "$1: ${commands[$i]}" \
                "exit status $status, wanted ${codes[$i]}; wanted on stderr: ${regexes[$i]}" \
                "$(tail -n 5 "$tap_dir/$1.$i/err")"
        fi
    done
}

table options <<'END'
2 :: --stages 0: legal: 1 to 65536 :: plan --stages 0
2 :: --stages -1: legal: 1 to 65536 :: plan --stages -1
2 :: --stages x: not a whole number; legal: 1 to 65536 :: plan --stages x
2 :: --stages 1\.5: not a whole number; legal: 1 to 65536 :: plan --stages 1.5
2 :: --stages 4x: not a whole number; legal: :: plan --stages 4x
2 :: --stages 0x4: not a whole number; legal: :: plan --stages 0x4
2 :: --stages 65537: legal: 1 to 65536 :: plan --stages 65537
2 :: --stages 99999999999999999999: number out of range; legal: 1 to 65536 :: plan --stages 99999999999999999999
2 :: --stages 9223372036854775807Gi: number out of range; legal: :: plan --stages 9223372036854775807Gi
2 :: --stages .*empty; legal: 1 to 65536 :: plan --stages=
2 :: --stages .*empty; legal: 1 to 65536 :: plan --stages ""
2 :: --virtual 0: legal: 1 to 1024 :: plan --virtual 0
2 :: --virtual -2: legal: 1 to 1024 :: plan --virtual=-2
2 :: --virtual two: not a whole number; legal: 1 to 1024 :: plan --virtual two
2 :: --virtual 1e99: not a whole number; legal: 1 to 1024 :: plan --virtual 1e99
2 :: --virtual 99999999999999999999: number out of range; legal: 1 to 1024 :: plan --virtual 99999999999999999999
2 :: --microbatches 0: legal: 1 to 1048576 :: plan --microbatches 0
2 :: --microbatches -8: legal: 1 to 1048576 :: plan --microbatches -8
2 :: --microbatches many: not a whole number; legal: 1 to 1048576 :: plan --microbatches many
2 :: --microbatches 2Mi: legal: 1 to 1048576 :: plan --microbatches 2Mi
2 :: --microbatches 99999999999999999999: number out of range; legal: :: plan --microbatches 99999999999999999999
2 :: --block 0: legal: 1 to 65536 :: attnres plan --layers 8 --width 64 --block 0
2 :: --block -4: legal: 1 to 65536 :: attnres plan --layers 8 --width 64 --block -4
2 :: --block four: not a whole number; legal: 1 to 65536 :: attnres plan --layers 8 --width 64 --block four
2 :: --block 99999999999999999999: number out of range; legal: :: attnres plan --layers 8 --width 64 --block 99999999999999999999
2 :: --width 0: legal: 1 to 1048576 :: attnres plan --layers 8 --block 4 --width 0
2 :: --width -64: legal: 1 to 1048576 :: attnres plan --layers 8 --block 4 --width -64
2 :: --width wide: not a whole number; legal: 1 to 1048576 :: attnres plan --layers 8 --block 4 --width wide
2 :: --width 4Gi: legal: 1 to 1048576 :: attnres plan --layers 8 --block 4 --width 4Gi
2 :: --tokens 0: legal: 1 to 1073741824 :: plan --tokens 0
2 :: --tokens -1: legal: 1 to 1073741824 :: plan --tokens -1
2 :: --tokens lots: not a whole number; legal: 1 to 1073741824 :: plan --tokens lots
2 :: --tokens 2Gi: legal: 1 to 1073741824 :: plan --tokens 2Gi
2 :: --tokens 99999999999999999999: number out of range; legal: :: plan --tokens 99999999999999999999
2 :: --layers 0: legal: 1 to 65536 :: attnres plan --layers 0 --block 4 --width 64
2 :: layers: not given; give a model, or layers and width :: attnres plan
2 :: width: not given; give a model, or layers and width :: attnres plan --layers 8 --block 4
2 :: block: not given; mechanism = block needs :: attnres plan --layers 8 --width 64
2 :: stages x virtual = 67108864 chunks; legal: at most 1048576 :: plan --stages 65536 --virtual 1024
2 :: tokens x width = .* elements; legal: at most 2\^40 :: attnres plan --layers 8 --block 4 --width 1Mi --tokens 1Gi
2 :: tensor_parallel = 3 does not divide tokens x width = 16 x 64 :: small --tensor-parallel 3
2 :: --prefetch -1: legal: 0 to 1024 :: small --prefetch -1
2 :: --repetitions 0: legal: 1 to 10000 :: small --repetitions 0
2 :: --mechanism x: legal: standard, highway, denseformer, mhc, full, block :: small --mechanism x
2 :: --cache all: legal: none, received, own :: small --cache all
2 :: --schedule zb: legal: gpipe, 1f1b, interleaved :: small --schedule zb
2 :: --dtype fp8: legal: fp32, bf16, fp16 :: small --dtype fp8
2 :: --show all: legal: totals, hops, actions, memory, timeline :: small --show all
2 :: --format json: legal: table, csv :: small --format json
2 :: --rank 2: legal: 0 to 1, or -1 for all :: small --show actions --rank 2
2 :: --columns 3: legal: 10 to 100000 :: small --show timeline --columns 3
2 :: split = 3,3: has 2 entries; legal: one for each of the 4 chunks :: plan --stages 4 --split 3,3
2 :: split = 1,1,1,1,0: has more than 4 entries; legal: one for each :: plan --stages 4 --split 1,1,1,1,0
2 :: split = 3,3,1,2: sums to 9; the model has 4 units :: plan --stages 4 --split 3,3,1,2
2 :: split = 1,1,1,0: sums to 3; the model has 4 units :: plan --stages 4 --split 1,1,1,0
2 :: split = 1,1,1,x: entry 4 is not a whole number of units from 0 to 4 :: plan --stages 4 --split 1,1,1,x
2 :: split = 5,-1,0,0: entry .* is not a whole number of units from 0 to 4 :: plan --stages 4 --split 5,-1,0,0
2 :: split = 1,1,1,: entry 4 is not a whole number :: plan --stages 4 --split 1,1,1,
2 :: schedule = 1f1b with virtual = 2: rule: .*virtual = 1.*use interleaved or gpipe :: small --schedule 1f1b --virtual 2
0 :: note: rule 'padded rounds': :: plan --stages 2 --virtual 2 --microbatches 3
0 :: note: block = 20 is more than layers = 8: all layers are one block :: attnres plan --layers 8 --width 64 --block 20
2 :: unknown model 'kimi'; did you mean 'kimi-k3'\? legal: .*deepseek-v3.*path of a .ini file :: attnres plan --model kimi
2 :: unknown device 'h10'; did you mean 'h100-sxm'\? legal: .*h200.*path of a .ini file :: small --device h10
2 :: model file './no.ini': No such file :: attnres plan --model ./no.ini
2 :: device file './no.ini': No such file :: small --device ./no.ini
2 :: unknown option '--stagse'; did you mean '--stages'\? legal: .*--virtual :: small --stagse 4
2 :: unknown option '--shwo'; did you mean '--show'\? :: small --shwo hops
2 :: unknown option '--foo'.*--nodes :: attnres topo generate pcie-node --foo 1
2 :: 'stages' is given twice :: small --stages 4
2 :: --show is given twice :: small --show hops --show totals
2 :: --output is given twice :: small -o a --output b
2 :: --cache: its value is missing :: small --cache
2 :: --output: its value is missing :: small -o
2 :: 'extra' is not an option; see --help :: small extra
2 :: '-x' is not an option; see --help :: small -x
2 :: --forward-time 3: missing unit; expected e\.g\. "2 us" :: small --forward-time 3
2 :: --forward-time 3 parsec: unknown unit; expected e\.g\. "2 us" :: small --forward-time "3 parsec"
2 :: --forward-time -1 s: legal: 0 s to 1000000 s :: small --forward-time "-1 s"
2 :: --forward-time nan: not a number; expected :: small --forward-time nan
2 :: --forward-time inf s: not a number; expected :: small --forward-time "inf s"
2 :: --forward-time 1e999 s: number out of range; expected :: small --forward-time "1e999 s"
2 :: --time-limit 0 s: legal: 1 ms to 1000000 s :: small --time-limit "0 s"
2 :: --speed-ratio 0: legal: :: small --speed-ratio 0
2 :: largest hop carries 2 vectors = 8589934592 bytes in one message; legal: less than 2 GiB :: attnres plan --layers 8 --block 4 --width 65536 --tokens 32Ki --stages 2
2 :: largest hop carries 1 vectors = 2147483648 bytes in one message; legal: less than 2 GiB :: attnres plan --layers 8 --mechanism standard --width 65536 --tokens 16Ki --stages 2
0 :: ^$ :: attnres plan --layers 8 --mechanism standard --width 65536 --tokens 16383 --stages 2 --show hops; echo >&2
2 :: compute = real with pass = train: .*legal: pass = forward :: small --compute real --dtype fp32
2 :: compute = real with dtype = fp16: .*legal: fp32, bf16 :: small --compute real --pass forward --dtype fp16
2 :: compute = real with mechanism = mhc: .*legal: standard, block, full :: small --compute real --pass forward --mechanism mhc
2 :: compute = real with tensor_parallel = 2: .*legal: tensor_parallel = 1 :: small --compute real --pass forward --dtype fp32 --tensor-parallel 2
2 :: --show timeline with compute = real: times are known to a run only :: small --show timeline --compute real --pass forward --dtype fp32
2 :: 'frob' is no command; legal: plan, sim, run, study, report, bench, mixing, topo :: attnres frob
2 :: Usage: attnres COMMAND :: attnres
2 :: study: which file\? :: attnres study
2 :: unknown study 'nope'; .*legal: demo :: attnres study nope
2 :: study file './no.ini': No such file :: attnres study ./no.ini
2 :: 'b' is not an option :: attnres study a b
2 :: report: which directory\? :: attnres report
2 :: topo generate: which preset\? :: attnres topo generate
2 :: unknown preset 'pcie'; did you mean 'pcie-node'\? legal: .*nvlink-node :: attnres topo generate pcie
2 :: --nodes 0: legal: 1 to :: attnres topo generate pcie-node --nodes 0
2 :: --nodes is given twice :: attnres topo generate pcie-node --nodes 1 --nodes 2
2 :: --link-bandwidth 0 GB/s: legal: 1 B/s to :: attnres topo generate pcie-node --link-bandwidth "0 GB/s"
2 :: --link-bandwidth 3: missing unit; expected e\.g\. "4\.8 TB/s" :: attnres topo generate pcie-node --link-bandwidth 3
END

table "device file" <<'END'
3 :: ./d\.ini:7: memory_bandwidth = 0 GB/s: legal: 1 MB/s to 1000 TB/s :: device memory_bandwidth "0 GB/s"; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = -3 TB/s: legal: 1 MB/s to 1000 TB/s :: device memory_bandwidth "-3 TB/s"; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = NaN: not a number; expected e\.g\. "4\.8 TB/s" :: device memory_bandwidth NaN; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = nan TB/s: not a number; expected :: device memory_bandwidth "nan TB/s"; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = inf TB/s: not a number; expected :: device memory_bandwidth "inf TB/s"; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = 4\.8: missing unit; expected e\.g\. "4\.8 TB/s" :: device memory_bandwidth 4.8; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = 4\.8 TB: unknown unit; expected :: device memory_bandwidth "4.8 TB"; small --device ./d.ini
3 :: ./d\.ini:7: memory_bandwidth = : empty; expected :: device memory_bandwidth ""; small --device ./d.ini
3 :: ./d\.ini:13: kernel_launch = 0 us: legal: 1 ns to 1 s :: device kernel_launch "0 us"; small --device ./d.ini
3 :: ./d\.ini:14: unknown key 'memory_bandwith'; did you mean 'memory_bandwidth'\? legal: :: device memory_bandwith "3 TB/s"; small --device ./d.ini
3 :: ./d\.ini:14: duplicate key 'memory-bandwidth'; it is in line 7 too :: device memory-bandwidth "3 TB/s"; small --device ./d.ini
3 :: ./d\.ini: section \[device\] lacks the key 'matrix_peak' :: grep -v matrix_peak "$h100" >d.ini; small --device ./d.ini
3 :: ./d\.ini:1: unknown section \[devise\]; legal: \[device\] :: file d.ini "[devise]"; small --device ./d.ini
2 :: device file './d\.ini': is a directory :: mkdir d.ini; small --device ./d.ini
END

table "model file" <<'END'
3 :: ./m\.ini:3: layers = 0: legal: 1 to 65536 :: file m.ini "[model]" "name = m" "layers = 0"; attnres plan --model ./m.ini
3 :: ./m\.ini:3: layers = all: not a whole number; legal: :: file m.ini "[model]" "name = m" "layers = all"; attnres plan --model ./m.ini
3 :: ./m\.ini:2: unknown key 'layer'; did you mean 'layers'\? :: file m.ini "[model]" "layer = 3"; attnres plan --model ./m.ini
3 :: ./m\.ini:1: nonsense: neither a \[section\] nor a key = value :: file m.ini nonsense; attnres plan --model ./m.ini
END

if have_platforms; then
    table platform <<'END'
2 :: unknown platform 'fre'; did you mean 'free'\? legal: .*torus-3d.*path of a .xml file :: small --platform fre
2 :: platform file './no.xml': No such file :: small --platform ./no.xml
2 :: platform file './d.xml': is a directory :: mkdir d.xml; small --platform ./d.xml
3 :: ./p\.xml: link 'l01' has bandwidth 0 B/s .*legal: bandwidth > 0 :: platform 0Bps 0s; small --platform ./p.xml
3 :: ./p\.xml: link 'l01' has bandwidth -5 B/s .*legal: bandwidth > 0 :: platform -5Bps 0s; small --platform ./p.xml
3 :: ./p\.xml: link 'l01' has bandwidth nan B/s .*legal: bandwidth > 0.*finite :: platform nanBps 0s; small --platform ./p.xml
3 :: ./p\.xml: link 'l01' has bandwidth inf B/s .*legal: .*finite :: platform infBps 0s; small --platform ./p.xml
3 :: ./p\.xml: link 'l01' has .* latency -1 s; legal: .*latency >= 0 :: platform 1GBps -1s; small --platform ./p.xml
3 :: ./p\.xml:[0-9]+: .*fastBps :: platform fastBps 0s; small --platform ./p.xml
3 :: ./p\.xml:[0-9]+: .*(parsec|unit) :: platform 1GBps 1parsec; small --platform ./p.xml
3 :: ./p\.xml:1: SimGrid: Invalid XML.*EOF :: : >p.xml; small --platform ./p.xml
3 :: ./p\.xml:1: tag without its end :: file p.xml "<platform version='4.1'><zone"; small --platform ./p.xml
3 :: ./p\.xml:1: SimGrid: Invalid XML :: file p.xml hello; small --platform ./p.xml
3 :: ./p\.xml:[0-9]+: SimGrid: .*XML :: sed '/<\/zone>/d' "$data_dir/two.xml" >p.xml; small --platform ./p.xml
3 :: ./p\.xml: platform has no host :: sed '/<host/d;/<route/d' "$data_dir/two.xml" >p.xml; small --platform ./p.xml
3 :: ./p\.xml: route from 'h[01]' to 'h[01]': :: sed '/<route/d' "$data_dir/two.xml" >p.xml; small --platform ./p.xml
2 :: platform = ./n\.xml has 8 hosts; 9 ranks on every 1st host need 9 :: attnres topo generate nvlink-node >n.xml; plan --stages 9 --platform ./n.xml
2 :: has 2 hosts; 2 ranks on every 2nd host need 3 :: small --host-stride 2 --platform "$data_dir/two.xml"
2 :: has 8 hosts; 4 ranks on every 4th host need 13 :: attnres topo generate nvlink-node >n.xml; plan --stages 4 --tensor-parallel 4 --platform ./n.xml
2 :: hosts = h\.txt: cannot read: No such file :: small --platform "$data_dir/two.xml" --hosts h.txt
3 :: h\.txt: names 1 hosts; the 2 ranks need one each :: file h.txt h0; small --platform "$data_dir/two.xml" --hosts h.txt
3 :: h\.txt: names 0 hosts; the 2 ranks need one each :: : >h.txt; small --platform "$data_dir/two.xml" --hosts h.txt
3 :: h\.txt:.* host 'h1' is given to two ranks, 0 and 1 :: file h.txt h1 h1; small --platform "$data_dir/two.xml" --hosts h.txt
3 :: h\.txt:.* 'h7' is no host of platform :: file h.txt h0 h7; small --platform "$data_dir/two.xml" --hosts h.txt
3 :: h\.txt: :: mkdir h.txt; small --platform "$data_dir/two.xml" --hosts h.txt
3 :: ./p\.xml: link 'l01' has bandwidth nan :: platform nanBps 0s; attnres sim --layers 8 --block 4 --width 64 --stages 2 --platform ./p.xml -o r
END
    skip_platforms=
else
    skip "platform files" "built without SimGrid"
    skip_platforms=1
fi

# The point is not started: the figure is compared with the machine's memory first.
table "memory of real compute" <<'END'
4 :: the run needs [0-9]{4}\.[0-9]+ GiB for 2 ranks, this machine has [0-9.]+ GiB free; lower :: attnres run --layers 8 --block 4 --width 65536 --tokens 16 --stages 2 --compute real --dtype fp32 --pass forward
4 :: the run needs [0-9]{4}\.[0-9]+ GiB for 2 ranks, this machine has [0-9.]+ GiB free; lower :: attnres sim --layers 8 --block 4 --width 65536 --tokens 16 --stages 2 --compute real --dtype fp32 --pass forward
END

table "study file" <<'END'
3 :: s\.ini:3: stages = x: not a whole number; legal: 1 to 65536 :: study "; a comment" "[study]" "stages = 2, x"
3 :: s\.ini:2: stages = 0: legal: 1 to 65536 :: study "[study]" "stages = 4, 0"
3 :: s\.ini:2: stages = : empty; legal: :: study "[study]" "stages = 2,"
3 :: s\.ini:2: forward_time = 3: missing unit; expected :: study "[study]" "forward_time = 3"
3 :: s\.ini:2: .*unknown key 'stage'; did you mean 'stages'\? legal: .*microbatches :: study "[study]" "stage = 2"
3 :: s\.ini:3: duplicate key 'stages'; it is in line 2 too :: study "[study]" "stages = 2" "stages = 4"
3 :: s\.ini:3: duplicate key 'host-stride'; it is in line 2 too :: study "[study]" "host_stride = 2" "host-stride = 4"
3 :: s\.ini:3: stages: 'stages' is given twice :: study "[study]" "stages + virtual = 2 : 1" "stages = 3"
3 :: s\.ini:2: engine = fly: legal: plan, sim, run :: study "[study]" "engine = fly"
3 :: s\.ini:2: mechanism = magic: legal: standard, .*block :: study "[study]" "mechanism = block, magic"
3 :: s\.ini:1: unknown section \[stud\]; legal: \[study\] :: study "[stud]" "stages = 2"
3 :: s\.ini:1: stages = 2: stands before the section \[study\] :: study "stages = 2"
3 :: s\.ini: has no keys; expected a section \[study\] :: study ""
3 :: s\.ini:2: platform \+ host_stride: .*has 1 value for 2 keys; part them by ':' :: study "[study]" "platform + host_stride = free"
3 :: s\.ini:2: platform \+ host_stride: 'free : 1 : 2' has 3 values for 2 keys :: study "[study]" "platform + host_stride = free : 1 : 2"
3 :: s\.ini:2: nonsense: neither a \[section\] nor a key = value :: study "[study]" nonsense
3 :: s\.ini:2: line too long; legal: up to :: study "[study]" "stages = $(printf '%2000s' '' | tr ' ' 4)"
3 :: s\.ini:1: not a text file :: printf '\0\n' >s.ini; attnres study s.ini
END
fresh
study "[study]" "stages = 2, x" >/dev/null 2>&1
is "$(find . -name results.csv)" "" "a study file that is refused leaves no results.csv"

table "output" <<'END'
4 :: /dev/null/x: cannot make the directory: Not a directory :: attnres sim --layers 8 --block 4 --width 64 --stages 2 -o /dev/null/x
4 :: /proc/nowhere: cannot make the directory: :: attnres sim --layers 8 --block 4 --width 64 --stages 2 -o /proc/nowhere
4 :: /dev/null/x: cannot make the directory: Not a directory :: small -o /dev/null/x
4 :: standard output cannot be written :: small --show hops >/dev/full
4 :: standard output cannot be written :: attnres --help >/dev/full
4 :: writ :: attnres topo generate pcie-node >/dev/full
4 :: r/results\.csv: .*(No space left|cannot|could not) :: mkdir r; ln -s /dev/full r/results.csv; attnres sim --layers 8 --block 4 --width 64 --stages 2 -o r
4 :: r/results\.csv: .*(No space left|cannot|could not) :: mkdir r; ln -s /dev/full r/results.csv; small -o r
4 :: r/results\.csv: cannot write: Is a directory :: mkdir -p r/results.csv; small -o r
3 :: r/results\.csv: has other columns than this version writes; .*-o :: mkdir r; echo a,b >r/results.csv; small -o r
3 :: r/results\.csv: has other columns than this version writes; .*-o :: mkdir r; echo a,b >r/results.csv; attnres sim --layers 8 --block 4 --width 64 --stages 2 -o r
3 :: r/results\.csv: has other columns than this version writes; .*-o :: mkdir r; echo a,b >r/results.csv; file s.ini "[study]" "engine = plan"; attnres study s.ini -o r
3 :: nowhere/results\.csv: cannot be opened: No such file :: attnres report nowhere
3 :: r/results\.csv: .*no rows :: mkdir r; echo a,b >r/results.csv; attnres report r
3 :: r/results\.csv: empty, not even a header :: mkdir r; : >r/results.csv; attnres report r
3 :: r/results\.csv:2: 1 cells; the header has 2 :: mkdir r; printf 'a,b\n1\n' >r/results.csv; attnres report r
3 :: r/results\.csv:2: quotes do not match :: mkdir r; printf 'a,b\n"1,2\n' >r/results.csv; attnres report r
END
fresh
mkdir r
echo a,b >r/results.csv
small -o r >/dev/null 2>&1
is "$(cat r/results.csv)" a,b "a file with other columns is left as it was"
if [ "$(id -u)" -ne 0 ]; then
    fresh
    mkdir r
    chmod a-w r
    fails_with 4 'r/results\.csv: cannot write: Permission denied' small -o r
else
    skip "a directory without the right to write" "root may"
fi

# A study with combinations that fail: the other rows are there, the failed ones say why.
fresh
file s.ini '[study]' 'engine = plan' 'layers = 8' 'block = 4' 'width = 64' 'tokens = 16' \
    'stages = 2' 'virtual = 2' 'schedule = 1f1b, gpipe, interleaved' 'platform = free'
if [ -z "$skip_platforms" ]; then
    fails_with 4 '1 of 3 points failed; their rows say why' limited "$ATTNRES" study s.ini -o r
    is "$(cells r/results.csv schedule status | tr '\t\n' ': ')" \
        "1f1b:failed gpipe:ok interleaved:ok " "a refused combination is a failed row, others go on"
    like "$(cells r/results.csv reason)" 'schedule = 1f1b with virtual = 2: rule: ' \
        "the failed row has its reason"
    is "$(cells r/results.csv step_s | head -n 1)" "" "a failed row has no step, not -1"
    file s.ini '[study]' 'engine = plan' 'layers = 8' 'block = 4' 'width = 64' \
        'stages = 2, 2000, 4' 'platform = free, ./no.xml'
    fails_with 4 '4 of 6 points failed' limited "$ATTNRES" study s.ini -o q
    is "$(cells q/results.csv stages platform status | tr '\t\n' ': ')" \
        "2:free:ok 2:./no.xml:failed 2000:free:failed 2000:./no.xml:failed 4:free:ok 4:./no.xml:failed " \
        "too few hosts and a missing platform are rows too"
    like "$(cells q/results.csv reason)" 'platform = free has 1024 hosts; 2000 ranks' "with the hosts"
    like "$(cells q/results.csv reason)" "platform file './no.xml': No such file" "with the file"

    # The disk fills up during a study: rows already there stay, and stay readable.
    fresh
    file s.ini '[study]' 'engine = plan' 'layers = 8' 'block = 4' 'width = 64' 'tokens = 16' \
        'stages = 2, 3, 4, 5, 6, 7, 8' 'platform = free'
    full() (
        trap '' XFSZ
        ulimit -f 4 # 4 KiB: the header and a few rows
        limited "$ATTNRES" study s.ini -o r
    )
    fails_with 4 'r/results\.csv: the row could not be written: File too large' full
    is "$(cells r/results.csv status | sort -u)" ok "a full disk: the rows that fitted are whole"
    ok "a full disk: there are some rows" test "$(cells r/results.csv status | wc -l)" -ge 2
else
    skip "studies with failing combinations" "built without SimGrid"
fi
tap_done
