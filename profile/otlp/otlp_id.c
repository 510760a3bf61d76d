/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of modules in OTLP profiles. */
#include "otlp_id.h"

void ux_otlp_id_take(struct ux_bytes key, struct ux_bytes value, struct ux_id *id)
{
	static const struct {
		const char *key;
		enum ux_id_type type;
	} kinds[] = {
		{"process.executable.build_id.gnu", UX_ID_GNU},
		{"process.executable.build_id.htlhash", UX_ID_FILE},
		{"process.executable.build_id.profiling", UX_ID_FILE},
		{"process.executable.build_id.go", UX_ID_GO},
	};
	for (size_t i = 0; i < ux_countof(kinds); i++) {
		char text[UX_ID_TEXT];
		struct ux_id found;
		if (!ux_bytes_eq(key, ux_bytes_cstr(kinds[i].key)) || value.size > UX_ID_GO_MAX)
			continue;
		(void)snprintf(text, sizeof(text), "%s:%.*s", ux_id_type_name(kinds[i].type),
			       (int)value.size, (const char *)value.data);
		bool better = id->size == 0 || kinds[i].type == UX_ID_GNU ||
			      (kinds[i].type == UX_ID_FILE && id->type == UX_ID_GO);
		if (better && ux_id_parse(ux_bytes_cstr(text), &found, NULL) == UX_OK)
			*id = found;
	}
}
