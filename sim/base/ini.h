#ifndef AR_INI_H
#define AR_INI_H

/* INI files with one section: "key = value", comments after ';' (at the start of
 * a line or after a space) or '#' (at the start). Our own reader, because inih does
 * not tell line numbers and, as packaged, splits lines of 200 bytes. */

#include "err.h"

enum { AR_INI_LINE = 1024 }; /* bytes of a line without its comment, with its end */

/* Call each() for every key of the file in order. Refused with file and line: any
 * other section, a key twice (hyphen and underscore are the same), a line that is
 * neither, NUL bytes, a line that is too long (its comment may be of any length).
 * Stops at the first failure. key and value live during the call only; a failure
 * of each() is returned as it is. */
ar_status ar_ini_each(const char *path, const char *section,
                      ar_status (*each)(void *user, const char *key, const char *value, int line,
                                        ar_err *err),
                      void *user, ar_err *err);

#endif
