#include "reference_back.h"
#include "row.h"

#include <string.h>

static double dot(size_t d, const double *x, const double *y) {
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * y[j];
    return sum;
}

/* y += a x */
static void add(size_t d, double a, const double *x, double *y) {
    for (size_t j = 0; j < d; j++)
        y[j] += a * x[j];
}

static double sigmoid(double z) {
    return 1.0 / (1.0 + exp(-z));
}

static void widen(size_t d, const float *from, double *to) {
    for (size_t j = 0; j < d; j++)
        to[j] = (double)from[j];
}

/* z = w . RMSNorm(x), or raw; and back: dx, dw (or NULL) += dz times the derivative. */
static double logit(size_t d, const double *x, const double *w, bool raw) {
    return dot(d, x, w) / (raw ? 1.0 : sqrt(dot(d, x, x) / (double)d + AR_RMS_EPS));
}
static void logit_back(size_t d, const double *x, const double *w, bool raw, double dz, double *dx,
                       double *dw) {
    const double r = raw ? 1.0 : 1.0 / sqrt(dot(d, x, x) / (double)d + AR_RMS_EPS);
    const double z = dot(d, x, w) * r;
    add(d, dz * r, w, dx);
    if (!raw) add(d, -dz * z * r * r / (double)d, x, dx);
    if (dw) add(d, dz * r, x, dw);
}

/* One token of a walk; the vectors are its rows, `apart` doubles from layer to layer. */
typedef struct {
    const ar_reference_walk *w;
    size_t d, apart;
    const double *x, *v, *gate, *dh;
    double *h;
    ar_reference_grads to; /* x, v, gate: its rows */
    double *room;
} token;

/* ---- attention and DenseFormer ---- */

/* A layer's sources: source k is the sum of layer outputs first[k]..last[k], layer 0's being
 * the embedding. */
static size_t sources(const token *t, size_t l, size_t *first, size_t *last) {
    const ar_reference_walk *const w = t->w;
    const size_t S = w->id == AR_BLOCK ? w->block : 1, window = w->variant.window;
    const size_t all = 1 + (l - 1 + S - 1) / S;
    size_t n = 0;
    for (size_t k = 0; k < all; k++) {
        if (window && k > 0 && k + window < all) continue;
        first[n] = k ? (k - 1) * S + 1 : 0;
        last[n] = k * S < l - 1 ? k * S : l - 1;
        n++;
    }
    return n;
}

static void attend(const token *t, size_t l) {
    const ar_reference_walk *const w = t->w;
    const size_t d = t->d, L = w->layers;
    const bool back = t->dh != NULL, fixed = w->id == AR_DENSEFORMER;
    const bool own = w->variant.own_query && l <= L, raw = w->variant.raw_keys;
    size_t *const first = (size_t *)(void *)t->room, *const last = first + L + 1;
    double *const p = t->room + 2 * L + 2, *const gain = p + L + 1, *const query = gain + L + 1;
    double *const dx = query + d, *const x = dx + d;
    const size_t n = sources(t, l, first, last);
    double *dw = own ? t->to.gate : t->to.query;
    double sum = 0.0, mean = 0.0;
    if (dw) dw += own ? (l - 1) * t->apart : (l - 1) * d;
    if (own)
        memcpy(query, t->gate + (l - 1) * t->apart, d * sizeof *query);
    else if (!fixed)
        widen(d, w->query + (l - 1) * d, query);
    for (size_t k = 0; k < n; k++) {
        double *const row = x + k * d;
        memset(row, 0, d * sizeof *row);
        for (size_t i = first[k]; i <= last[k]; i++)
            add(d, 1.0, i ? t->v + (i - 1) * t->apart : t->x, row);
        const double z = fixed ? 0.0 : logit(d, row, query, raw);
        p[k] = fixed                ? (double)w->mix[(l - 1) * (L + 1) + k]
               : w->variant.sigmoid ? sigmoid(z)
                                    : exp(z);
        sum += p[k];
    }
    if (fixed || w->variant.sigmoid) sum = 1.0;
    for (size_t k = 0; k < n; k++) {
        p[k] /= sum;
        if (!back) add(d, p[k], x + k * d, t->h + (l - 1) * t->apart);
        if (!back) continue;
        gain[k] = dot(d, t->dh + (l - 1) * t->apart, x + k * d);
        mean += p[k] * gain[k];
    }
    for (size_t k = 0; back && k < n; k++) {
        const double dz =
            w->variant.sigmoid ? gain[k] * p[k] * (1.0 - p[k]) : p[k] * (gain[k] - mean);
        memset(dx, 0, d * sizeof *dx);
        add(d, p[k], t->dh + (l - 1) * t->apart, dx);
        if (!fixed) logit_back(d, x + k * d, query, raw, dz, dx, dw);
        if (fixed && t->to.mix) t->to.mix[(l - 1) * (L + 1) + k] += gain[k];
        for (size_t i = first[k]; i <= last[k]; i++)
            add(d, 1.0, dx, i ? t->to.v + (i - 1) * t->apart : t->to.x);
    }
}

/* ---- one stream ---- */

/* Forward, keeping the stream before each layer's output came in room [L+1][d]; back from it. */
static void stream(const token *t) {
    const ar_reference_walk *const w = t->w;
    const size_t d = t->d, L = w->layers;
    double *const h = t->room, *const grad = h + (L + 1) * d, *const query = grad + d;
    memcpy(h, t->x, d * sizeof *h);
    for (size_t l = 1; l <= L; l++) {
        const double *const now = h + (l - 1) * d, *const v = t->v + (l - 1) * t->apart;
        double one = 0.0;
        if (w->variant.scalar_gate) {
            widen(d, w->query + l * d, query);
            one = sigmoid(logit(d, now, query, false));
        }
        for (size_t j = 0; j < d; j++) {
            const double g = w->id == AR_STANDARD     ? 0.0
                             : w->variant.scalar_gate ? one
                                                      : sigmoid(t->gate[(l - 1) * t->apart + j]);
            h[l * d + j] = w->id == AR_STANDARD ? now[j] + v[j] : (1.0 - g) * now[j] + g * v[j];
        }
    }
    for (size_t l = 0; l <= L && !t->dh; l++)
        memcpy(t->h + l * t->apart, h + l * d, d * sizeof *h);
    if (!t->dh) return;
    memcpy(grad, t->dh + L * t->apart, d * sizeof *grad);
    for (size_t l = L; l >= 1; l--) {
        const double *const now = h + (l - 1) * d, *const v = t->v + (l - 1) * t->apart;
        double *const dv = t->to.v + (l - 1) * t->apart, through = 0.0, one = 0.0;
        if (w->variant.scalar_gate) {
            widen(d, w->query + l * d, query);
            one = sigmoid(logit(d, now, query, false));
        }
        for (size_t j = 0; j < d; j++) {
            const double dG = grad[j];
            if (w->id == AR_STANDARD) {
                dv[j] += dG;
                continue;
            }
            const double g =
                w->variant.scalar_gate ? one : sigmoid(t->gate[(l - 1) * t->apart + j]);
            const double dz = dG * (v[j] - now[j]) * g * (1.0 - g);
            dv[j] += g * dG;
            grad[j] = (1.0 - g) * dG;
            if (w->variant.scalar_gate)
                through += dz;
            else if (t->to.gate)
                t->to.gate[(l - 1) * t->apart + j] += dz;
        }
        if (w->variant.scalar_gate)
            logit_back(d, now, query, false, through, grad,
                       t->to.query ? t->to.query + l * d : NULL);
        add(d, 1.0, t->dh + (l - 1) * t->apart, grad);
    }
    add(d, 1.0, grad, t->to.x);
}

/* ---- (m)HC ---- */

enum { MOST = AR_MAX_STREAMS, TURNS = 20 };

/* A layer's coefficients and what they are made from. */
typedef struct {
    double z[MOST + 2][MOST]; /* [c][j]: stream j under projection c */
    double read[MOST], write[MOST], mix[MOST][MOST];
    double turn[2 * TURNS + 1][MOST][MOST]; /* the mixture before and after each half turn */
} coefficients;

static void make(const token *t, const double *H, size_t l, double *p, coefficients *c) {
    const size_t m = t->w->streams, d = t->d;
    const float *const b = t->w->bias + (l - 1) * (m + 2) * m;
    const bool manifold = !t->w->variant.unconstrained;
    for (size_t k = 0; k < m + 2; k++) {
        widen(d, t->w->mix + ((l - 1) * (m + 2) + k) * d, p + k * d);
        for (size_t j = 0; j < m; j++)
            c->z[k][j] = logit(d, H + j * d, p + k * d, false);
    }
    for (size_t j = 0; j < m; j++) {
        const double read = (double)b[j], write = (double)b[m + j];
        c->read[j] = manifold ? sigmoid(c->z[0][j] + read) : tanh(c->z[0][j]) + read;
        c->write[j] = manifold ? 2.0 * sigmoid(c->z[1][j] + write) : tanh(c->z[1][j]) + write;
        for (size_t k = 0; k < m; k++) {
            const double y = c->z[2 + k][j], bias = (double)b[2 * m + j * m + k];
            c->turn[0][j][k] = manifold ? exp(y + bias) : tanh(y) + bias;
        }
    }
    const size_t turns = manifold ? 2 * TURNS : 0;
    for (size_t i = 0; i < turns; i++)
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++) {
                double sum = 0.0;
                for (size_t e = 0; e < m; e++)
                    sum += i % 2 ? c->turn[i][e][k] : c->turn[i][j][e];
                c->turn[i + 1][j][k] = c->turn[i][j][k] / sum;
            }
    memcpy(c->mix, c->turn[turns], sizeof c->mix);
}

/* From the gradient of the mixture after the last half turn to that before the first:
 * y = x / sum x, dx = (dy - dy . y) / sum x. */
static void turn_back(size_t m, const coefficients *c, double (*grad)[MOST]) {
    for (size_t i = 2 * TURNS; i-- > 0;) {
        const bool columns = i % 2;
        for (size_t a = 0; a < m; a++) {
            double sum = 0.0, mean = 0.0;
            for (size_t e = 0; e < m; e++) {
                const size_t j = columns ? e : a, k = columns ? a : e;
                sum += c->turn[i][j][k];
                mean += grad[j][k] * c->turn[i + 1][j][k];
            }
            for (size_t e = 0; e < m; e++) {
                const size_t j = columns ? e : a, k = columns ? a : e;
                grad[j][k] = (grad[j][k] - mean) / sum;
            }
        }
    }
}

/* H, grad: [m][d]; grad from that of the streams after layer l to that of those before it. */
static void layer_back(const token *t, const double *H, size_t l, double *grad, double *p,
                       double *next) {
    const size_t m = t->w->streams, d = t->d;
    const double *const dh = t->dh + (l - 1) * t->apart, *const v = t->v + (l - 1) * t->apart;
    const bool manifold = !t->w->variant.unconstrained;
    coefficients c;
    double dmix[MOST][MOST], dz[MOST + 2][MOST];
    make(t, H, l, p, &c);
    memset(next, 0, m * d * sizeof *next);
    for (size_t j = 0; j < m; j++) {
        add(d, c.write[j], grad + j * d, t->to.v + (l - 1) * t->apart);
        add(d, c.read[j], dh, next + j * d);
        for (size_t k = 0; k < m; k++) {
            add(d, c.mix[j][k], grad + k * d, next + j * d);
            dmix[j][k] = dot(d, H + j * d, grad + k * d);
        }
    }
    if (manifold) turn_back(m, &c, dmix);
    double *const db = t->to.bias ? t->to.bias + (l - 1) * (m + 2) * m : NULL;
    double *const dp = t->to.mix ? t->to.mix + (l - 1) * (m + 2) * d : NULL;
    for (size_t j = 0; j < m; j++) {
        const double dread = dot(d, dh, H + j * d), dwrite = dot(d, v, grad + j * d);
        const double read = c.read[j], write = c.write[j] / 2.0;
        dz[0][j] = dread * (manifold ? read * (1.0 - read) : 1.0 - pow(tanh(c.z[0][j]), 2));
        dz[1][j] =
            dwrite * (manifold ? 2.0 * write * (1.0 - write) : 1.0 - pow(tanh(c.z[1][j]), 2));
        for (size_t k = 0; k < m; k++)
            dz[2 + k][j] =
                dmix[j][k] * (manifold ? c.turn[0][j][k] : 1.0 - pow(tanh(c.z[2 + k][j]), 2));
        if (db) {
            db[j] += manifold ? dz[0][j] : dread;
            db[m + j] += manifold ? dz[1][j] : dwrite;
            for (size_t k = 0; k < m; k++)
                db[2 * m + j * m + k] += manifold ? dz[2 + k][j] : dmix[j][k];
        }
        for (size_t k = 0; k < m + 2; k++)
            logit_back(d, H + j * d, p + k * d, false, dz[k][j], next + j * d,
                       dp ? dp + k * d : NULL);
    }
    memcpy(grad, next, m * d * sizeof *grad);
}

static void streams(const token *t) {
    const ar_reference_walk *const w = t->w;
    const size_t d = t->d, L = w->layers, m = w->streams;
    double *const H = t->room, *const p = H + (L + 1) * m * d, *const grad = p + (m + 2) * d;
    coefficients c;
    for (size_t j = 0; j < m; j++)
        memcpy(H + j * d, t->x, d * sizeof *H);
    for (size_t l = 1; l <= L; l++) {
        const double *const now = H + (l - 1) * m * d;
        double *const then = H + l * m * d;
        make(t, now, l, p, &c);
        memset(then, 0, m * d * sizeof *then);
        for (size_t k = 0; k < m; k++) {
            if (!t->dh) add(d, c.read[k], now + k * d, t->h + (l - 1) * t->apart);
            add(d, c.write[k], t->v + (l - 1) * t->apart, then + k * d);
            for (size_t j = 0; j < m; j++)
                add(d, c.mix[j][k], now + j * d, then + k * d);
        }
    }
    for (size_t j = 0; j < m; j++)
        if (t->dh)
            memcpy(grad + j * d, t->dh + L * t->apart, d * sizeof *grad);
        else
            add(d, 1.0, H + (L * m + j) * d, t->h + L * t->apart);
    if (!t->dh) return;
    for (size_t l = L; l >= 1; l--)
        layer_back(t, H + (l - 1) * m * d, l, grad, p, grad + m * d);
    for (size_t j = 0; j < m; j++)
        add(d, 1.0, grad + j * d, t->to.x);
}

/* ---- all tokens ---- */

size_t ar_reference_walk_scratch(const ar_reference_walk *w) {
    const size_t L = w->layers, d = w->width, m = w->id == AR_MHC ? w->streams : 1;
    return (L + 1) * (4 + m * d) + (3 * m + 4) * d;
}

static void each_token(const ar_reference_walk *w, double *h, const double *dh,
                       const ar_reference_grads *to, double *scratch) {
    const bool attends = w->id == AR_FULL || w->id == AR_BLOCK || w->id == AR_DENSEFORMER;
    for (size_t i = 0; i < w->tokens; i++) {
        const size_t row = i * w->width;
        token t = {.w = w,
                   .d = w->width,
                   .apart = w->tokens * w->width,
                   .x = w->x + row,
                   .v = w->v + row,
                   .gate = w->gate ? w->gate + row : NULL,
                   .dh = dh ? dh + row : NULL,
                   .h = h ? h + row : NULL,
                   .room = scratch};
        if (to) {
            t.to = *to;
            t.to.x += row;
            t.to.v += row;
            if (to->gate) t.to.gate += row;
        }
        for (size_t l = 1; attends && l <= w->layers + 1; l++)
            attend(&t, l);
        if (w->id == AR_STANDARD || w->id == AR_HIGHWAY) stream(&t);
        if (w->id == AR_MHC) streams(&t);
    }
}

void ar_reference_walk_forward(const ar_reference_walk *w, double *h, double *scratch) {
    memset(h, 0, (w->layers + 1) * w->tokens * w->width * sizeof *h);
    each_token(w, h, NULL, NULL, scratch);
}

void ar_reference_walk_backward(const ar_reference_walk *w, const double *dh,
                                const ar_reference_grads *grads, double *scratch) {
    each_token(w, NULL, dh, grads, scratch);
}
