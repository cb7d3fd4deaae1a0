#include "err.h"

#include <stdarg.h>
#include <stdio.h>

ar_status ar_fail(ar_err *err, ar_status status, const char *format, ...) {
    if (err) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(err->text, sizeof err->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
