/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about ZIP files that the reader and the writer share (APPNOTE.TXT 6.3.10). */
#ifndef UX_ZIP_FORMAT_H
#define UX_ZIP_FORMAT_H

enum {
	ZIP_LOCAL_MAGIC = 0x04034b50,
	ZIP_CENTRAL_MAGIC = 0x02014b50,
	ZIP_END_MAGIC = 0x06054b50,
	ZIP_LOCAL_SIZE = 30, /* bytes of a header without its name and extra fields */
	ZIP_CENTRAL_SIZE = 46,
	ZIP_FLAG_DESCRIPTOR = 1 << 3, /* sizes and checksum follow the content */
	ZIP_EXTRA_ZIP64 = 1,
};

#endif
