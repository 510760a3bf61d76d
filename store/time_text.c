/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text. */
#include "time_text.h"

#include <time.h>

const char *ux_time_text(ux_time t, char text[UX_TIME_TEXT])
{
	struct tm tm;
	time_t seconds = t;
	if (!gmtime_r(&seconds, &tm) ||
	    strftime(text, UX_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, UX_TIME_TEXT, "unknown");
	return text;
}
