#ifndef AR_ERR_H
#define AR_ERR_H

/* Status and error text. A status is also the exit code of the programs. */
typedef enum {
    AR_OK = 0,
    AR_ECHECK = 1, /* a check failed: the result is wrong */
    AR_EUSAGE = 2, /* a bad option */
    AR_EINPUT = 3, /* a bad file, or a bad value in one */
    AR_ERUN = 4    /* the engine, the machine or the output failed */
} ar_status;

/* What went wrong: where, what was read, what is legal. Filled only on failure. */
typedef struct {
    char text[1024];
} ar_err;

/* Write the message (cut at the size of text) and return status, so that a
 * function can end with `return ar_fail(err, AR_EINPUT, ...)`. err may be NULL. */
ar_status ar_fail(ar_err *err, ar_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
