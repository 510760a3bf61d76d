/* SPDX-License-Identifier: Apache-2.0 */
/* Qualities as clients write them. */
#include "quality_word.h"

enum ux_code ux_quality_member(const json_t *o, enum ux_quality *ret, bool *ret_said,
			       struct ux_error *err)
{
	const char *word = NULL;
	*ret_said = false;
	UX_TRY(ux_json_in_str(o, "quality", 32, &word, err));
	if (!word)
		return UX_OK;
	for (int q = UX_QUALITY_NONE; q < UX_QUALITY_COUNT; q++) {
		if (strcmp(word, ux_quality_name((enum ux_quality)q)) != 0)
			continue;
		*ret = (enum ux_quality)q;
		*ret_said = true;
		return UX_OK;
	}
	return ux_error_set(err, UX_EINVAL, "there is no quality \"%.32s\"", word);
}
