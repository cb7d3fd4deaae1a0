/* Layout: which layers sit where. Oracle: the paper's 1-based layers, counted one by one. */

#include "points.h"

/* Layers of each chunk as "16,16,14,14". */
static const char *layers_of(const ar_point *point) {
    static char text[512];
    ar_layout layout = layout_of(point);
    for (int32_t c = 0, used = 0; c < layout.chunks; c++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d", c ? "," : "",
                         (int)(layout.chunk[c].last - layout.chunk[c].first + 1));
    ar_layout_free(&layout);
    return text;
}

static void test_even(tap *tap_now) {
    ar_point point = point_of(30, 1, 6, 4, 1, 1);
    OK(has(layers_of(&point), "8,8,7,7"), "30 units over 4");
    point.remainder = AR_REMAINDER_LAST;
    OK(has(layers_of(&point), "7,7,8,8"), "30 units over 4, remainder last");
    point = point_of(60, 2, 6, 4, 1, 1);
    OK(has(layers_of(&point), "16,16,14,14"), "30 units of two layers");
    point = point_of(54, 2, 6, 8, 4, 1);
    OK(has(layers_of(&point), "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,0,0,0,0,0"),
       "27 units over 32: the last five chunks are empty");
    point.remainder = AR_REMAINDER_LAST;
    OK(has(layers_of(&point), "0,0,0,0,0,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2"),
       "27 units over 32, remainder last: the first five are");
    point = point_of(5, 2, 2, 2, 1, 1);
    OK(has(layers_of(&point), "4,1"), "5 layers in units of 2: the last unit is short, none lost");
    point = point_of(3, 1, 2, 1, 1, 1);
    OK(has(layers_of(&point), "3"), "one chunk takes all");
}

static void test_split(tap *tap_now) {
    static const struct {
        const char *split, *message;
    } bad[] = {
        {"2,3,2", "split = 2,3,2: has 3 entries; legal: one for each of the 4 chunks"},
        {"2,3,2,1,0", "split = 2,3,2,1,0: has more than 4 entries"},
        {"2,3,2,2", "split = 2,3,2,2: sums to 9; the model has 8 units"},
        {"2,3,2,0", "split = 2,3,2,0: sums to 7; the model has 8 units"},
        {"2,x,2,1", "entry 2 is not a whole number of units from 0 to 8"},
        {"2,,4,2", "entry 2 is not a whole number"},
        {",2,4,2", "entry 1 is not a whole number"},
        {"2,3,2,1,", "entry 5 is not a whole number"},
        {"-1,3,5,1", "entry 1 is not a whole number"},
        {"2,3,2,1.0", "entry 4 is not a whole number"},
        {"2;3;2;1", "entry 1 is not a whole number"},
        {"9,0,0,-1", "entry 1 is not a whole number"},
        {"99999999999999999999,1,1,1", "entry 1 is not a whole number"},
    };
    ar_point point = point_of(16, 2, 4, 4, 1, 1);
    strcpy(point.split, "2,3,2,1");
    OK(has(layers_of(&point), "4,6,4,2"), "split 2,3,2,1 of two layers each");
    strcpy(point.split, "0,8,0,0");
    OK(has(layers_of(&point), "0,16,0,0"), "split with empty chunks");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const ar_layout before = {.stages = -7};
        ar_layout layout = before;
        ar_err err = {""};
        strcpy(point.split, bad[i].split);
        point.bad = i % 2 ? AR_EINPUT : AR_EUSAGE;
        OK(ar_layout_make(&point, &layout, &err) == point.bad && has(err.text, bad[i].message),
           "split %s is refused", bad[i].split);
        OK(memcmp(&layout, &before, sizeof layout) == 0, "and sets no output");
    }
}

/* One line a chunk: first-last, history, partial. */
static bool chunk_is(const ar_layout *layout, int32_t c, int32_t first, int32_t last,
                     int32_t history, bool partial) {
    const ar_chunk *chunk = &layout->chunk[c];
    const bool same = chunk->first == first && chunk->last == last && chunk->history == history &&
                      chunk->partial == partial;
    if (!same)
        printf("# chunk %d: layers %d-%d, history %d, partial %d\n", (int)c, (int)chunk->first,
               (int)chunk->last, (int)chunk->history, chunk->partial);
    return same;
}

static void test_blocks(tap *tap_now) {
    ar_point point = point_of(10, 1, 4, 4, 1, 1);
    strcpy(point.split, "4,2,3,1");
    ar_layout layout = layout_of(&point);
    OK(ar_layout_blocks(&layout) == 3, "10 layers in blocks of 4: N = 3");
    OK(chunk_is(&layout, 0, 1, 4, 2, false), "a block that ends at the boundary is a block");
    OK(chunk_is(&layout, 1, 5, 6, 2, true), "a boundary inside a block: partial sum");
    OK(chunk_is(&layout, 2, 7, 9, 3, true), "inside the short last block");
    OK(chunk_is(&layout, 3, 10, 10, 4, false), "the short last block ends with the model");
    ar_layout_free(&layout);

    strcpy(point.split, "0,10,0,0");
    layout = layout_of(&point);
    OK(chunk_is(&layout, 0, 1, 0, 1, false), "an empty first chunk hands on the embedding alone");
    OK(chunk_is(&layout, 3, 11, 10, 4, false), "an empty last chunk has all blocks behind it");
    ar_layout_free(&layout);

    point = point_of(10, 1, 4, 2, 1, 1);
    point.block = 99;
    layout = layout_of(&point);
    OK(ar_layout_blocks(&layout) == 1 && chunk_is(&layout, 0, 1, 5, 1, true) &&
           chunk_is(&layout, 1, 6, 10, 2, false),
       "S > L is one block");
    ar_layout_free(&layout);

    point = point_of(24, 2, 6, 4, 1, 1); /* 12 transformer layers, S = 6 */
    layout = layout_of(&point);
    OK(chunk_is(&layout, 0, 1, 6, 2, false) && chunk_is(&layout, 1, 7, 12, 3, false) &&
           chunk_is(&layout, 2, 13, 18, 4, false) && chunk_is(&layout, 3, 19, 24, 5, false),
       "boundaries after transformer layers 3, 6, 9, 12");
    ar_layout_free(&layout);
}

static void test_mechanisms(tap *tap_now) {
    static const int32_t block[] = {[AR_STANDARD] = 0, [AR_HIGHWAY] = 0, [AR_DENSEFORMER] = 1,
                                    [AR_MHC] = 0,      [AR_FULL] = 1,    [AR_BLOCK] = 4};
    for (int id = AR_STANDARD; id <= AR_BLOCK; id++) {
        ar_point point = point_of(12, 1, 4, 2, 2, 1);
        point.mechanism = id;
        point.streams = 5;
        point.embedding = id % 2;
        ar_layout layout = layout_of(&point);
        int partial = 0;
        for (int32_t c = 0; c < layout.chunks; c++)
            partial += layout.chunk[c].partial;
        OK(layout.block == block[id] && layout.stream == (id == AR_MHC ? 5 : 1) &&
               layout.first_source == (id % 2 ? 0 : 1) &&
               partial == (block[id] == 0   ? 4
                           : block[id] == 1 ? 0
                                            : 3),
           "%s: block %d, stream of %d", ar_mechanism_names[id], (int)layout.block,
           (int)layout.stream);
        OK(ar_layout_blocks(&layout) == (block[id] ? 12 / block[id] : 0), "and its blocks");
        ar_layout_free(&layout);
    }
}

/* Every chunk against a count of layers and blocks one by one. */
static bool is_sound(const ar_point *point, const ar_layout *layout) {
    const int32_t C = (int32_t)(point->stages * point->virtual_stages);
    int32_t done = 0;
    bool sound = layout->chunks == C && layout->stages == point->stages;
    for (int32_t c = 0; c < C; c++) {
        const ar_chunk *chunk = &layout->chunk[c];
        const int32_t count = chunk->last - chunk->first + 1;
        int32_t finished = layout->block ? 1 : 0;
        bool inside = layout->block == 0;
        sound &= count >= 0 && (count == 0 || chunk->first == done + 1);
        sound &= chunk->first % point->unit == 1 % point->unit;
        done += count;
        for (int32_t l = 1; l <= done && layout->block; l++) {
            const bool ends = l % layout->block == 0 || l == point->layers;
            finished += ends;
            inside = !ends;
        }
        sound &= chunk->history == finished && chunk->partial == inside;
        sound &= chunk->rank == c % point->stages;
        sound &= chunk->previous == (c < point->stages ? -1 : c - (int32_t)point->stages);
        sound &= chunk->next == (c + point->stages < C ? c + (int32_t)point->stages : -1);
    }
    return sound && done == point->layers;
}

/* Without a split: chunks differ by one unit at most, the longer ones at one end. */
static bool is_even(const ar_point *point, const ar_layout *layout) {
    int64_t before = -1, low = INT64_MAX, high = 0;
    bool sorted = true;
    for (int32_t c = 0; c < layout->chunks; c++) {
        const int32_t count = layout->chunk[c].last - layout->chunk[c].first + 1;
        const int64_t units = (count + point->unit - 1) / point->unit;
        if (c > 0)
            sorted &= point->remainder == AR_REMAINDER_FIRST ? units <= before : units >= before;
        before = units;
        if (units < low) low = units;
        if (units > high) high = units;
    }
    return sorted && high - low <= 1;
}

static void test_random(tap *tap_now) {
    uint64_t state = 11;
    int unsound = 0, uneven = 0, even = 0;
    for (int i = 0; i < 4000; i++) {
        const ar_point point = point_at_random(&state);
        ar_layout layout = layout_of(&point);
        if (!is_sound(&point, &layout) && !unsound++) show_point(&point, "unsound");
        if (!point.split[0] && ++even && !is_even(&point, &layout) && !uneven++)
            show_point(&point, "uneven");
        ar_layout_free(&layout);
    }
    OK(unsound == 0, "4000 random layouts: every layer once, in order; blocks as counted");
    OK(uneven == 0 && even > 1000, "%d without a split are even", even);
}

int main(void) {
    TAP_START;
    test_even(tap_now);
    test_split(tap_now);
    test_blocks(tap_now);
    test_mechanisms(tap_now);
    test_random(tap_now);
    return DONE();
}
