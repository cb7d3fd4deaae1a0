#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# A PAPI tool that knows nothing of attnres but the names of its events reads, to the byte,
# what bench's kernels and a rank's move.
. "$(dirname "$0")/../tap.sh"

name="a PAPI tool reads what the kernels move"
if case $ATTNRES in */asan/*) true ;; *) false ;; esac then
    skip "$name" "a sanitizer does not run with a preloaded library"
elif ! ldd "$ATTNRES" | grep -q libsde || ! ldd "$ATTNRES" | grep -q libpapi; then
    skip "$name" "built without libsde or PAPI"
elif ! "${CC:-cc}" -shared -fPIC -o tool.so "$data_dir/papi_tool.c" -lpapi 2>cc.log; then
    skip "$name" "no compiler"
else
    # 4 walks (one unmeasured) of 6 layers; 2 loads and 1 store of 64 x 48 floats a layer
    ok "$name: bench" env LD_PRELOAD="$PWD/tool.so" "$ATTNRES" bench --mechanism standard \
        --layers 6 --tokens 64 --width 48 --roof-set 1MB --min-repetitions 3 \
        --max-repetitions 3 --bind no --allow-cached yes
    is "$(grep -E '^[A-Z_]+ ' err | xargs)" \
        "LOADED_BYTES $((4 * 6 * 2 * 64 * 48 * 4)) STORED_BYTES $((4 * 6 * 64 * 48 * 4)) PASSES 24" \
        "$name: bench's numbers"
    if have_engine mpi; then
        # two warm-ups (the baseline's too) and a step, of 3 micro-batches and 4 layers; a
        # stream has no head. The launcher that MPI starts has no such events.
        ok "$name: a rank" env LD_PRELOAD="$PWD/tool.so" "$ATTNRES_RANK_MPI" --layers 4 --block 2 \
            --mechanism standard --width 16 --tokens 8 --stages 1 --microbatches 3 \
            --dtype fp32 --compute real --pass forward -o dir
        is "$(grep -E '^[A-Z_]+ [0-9]' err | xargs)" \
            "LOADED_BYTES $((3 * 3 * 4 * 2 * 8 * 16 * 4)) STORED_BYTES $((3 * 3 * 4 * 8 * 16 * 4)) PASSES 36" \
            "$name: a rank's numbers"
    else
        skip "$name: a rank" "no Open MPI"
    fi
fi
tap_done
