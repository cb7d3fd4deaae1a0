#include "price.h"

#include "traffic.h"

ar_price ar_price_chunk(const ar_point *point, const ar_device *device, const ar_layout *layout,
                        int32_t c) {
    const ar_chunk *chunk = &layout->chunk[c];
    ar_price price = {0};
    if (point->forward_time_s > 0) {
        price.forward_s = point->forward_time_s;
    } else {
        const ar_mechanism_id id = (ar_mechanism_id)point->mechanism;
        const ar_form form = (ar_form)point->form;
        const size_t block = (size_t)point->block, layers = (size_t)point->layers;
        const size_t first = (size_t)chunk->first, last = (size_t)chunk->last;
        const double share = (double)point->tokens / (double)point->tensor_parallel;
        const double count = (double)(chunk->last - chunk->first + 1);
        double vectors =
            ar_traffic_exact(id, form, layers, block, (size_t)point->streams, first, last);
        size_t launches = ar_traffic_launches(id, form, block, first, last);
        if (c == layout->chunks - 1 && layout->block > 0) { /* the output head */
            vectors += ar_traffic_head(id, layers, block);
            launches++;
        }
        price.matrix_s = count * share * point->layer_flop /
                         (point->efficiency * ar_device_matrix_flops(device));
        price.residual_s = vectors * share * (double)point->width *
                           (double)ar_dtype_B(point->dtype) / device->memory_Bps;
        price.launch_s = (count * AR_LAYER_KERNELS + (double)launches) * device->kernel_launch_s;
        price.forward_s = price.matrix_s + price.residual_s + price.launch_s;
    }
    price.backward_s = point->backward_time_s > 0 ? point->backward_time_s : 2 * price.forward_s;
    return price;
}
