#ifndef AR_ROWFILE_H
#define AR_ROWFILE_H

/* CSV files that grow row by row: DIR/NAME, its header first. header and row are whole
 * lines, each with its end. */

#include "err.h"

/* mkdir -p. "" is refused. */
ar_status ar_directory_make(const char *dir, ar_err *err);

/* Make the directory and the file where they are missing. Refused before anything is
 * started: what cannot be written, and a file whose header is another. */
ar_status ar_rowfile_prepare(const char *dir, const char *name, const char *header, ar_err *err);

/* Append the row, behind the header when the file is empty, and bring it to the disk. On
 * failure the rows before it are as they were. */
ar_status ar_rowfile_append(const char *dir, const char *name, const char *header, const char *row,
                            ar_err *err);

#endif
