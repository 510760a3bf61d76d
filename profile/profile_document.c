/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of any format. */
#include "profile_document.h"

#include "core_file.h"
#include "crash_line.h"
#include "file_kind.h"
#include "folded.h"
#include "perf_script.h"
#include "profile_jit.h"

enum ux_profile_format ux_profile_format_of(struct ux_bytes bytes)
{
	/* From the surest mark to the weakest. */
	static const struct {
		bool (*is)(struct ux_bytes bytes);
		enum ux_profile_format format;
	} formats[] = {
		{ux_perf_data_is, UX_PROFILE_FORMAT_PERF_DATA},
		{ux_otlp_json_is, UX_PROFILE_FORMAT_OTLP_JSON},
		{ux_firefox_is, UX_PROFILE_FORMAT_FIREFOX},
		{ux_perf_script_is, UX_PROFILE_FORMAT_PERF_SCRIPT},
		{ux_folded_is, UX_PROFILE_FORMAT_FOLDED},
		{ux_pprof_is, UX_PROFILE_FORMAT_PPROF},
		{ux_otlp_is, UX_PROFILE_FORMAT_OTLP},
	};
	for (size_t i = 0; i < ux_countof(formats); i++)
		if (formats[i].is(bytes))
			return formats[i].format;
	return UX_PROFILE_FORMAT_NONE;
}

static enum ux_code profile_document_script(struct ux_profile_document *d, struct ux_bytes text,
					    struct ux_profile *p, struct ux_error *err)
{
	UX_TRY(ux_perf_script_read(text, d->jit, p, err));
	if (d->jit) {
		d->perf.untimed = d->jit->untimed;
		d->perf.unsure = d->jit->unsure;
	}
	return UX_OK;
}

/* Reports the format of the bytes, if another command reads it. */
static enum ux_code profile_document_refuse(struct ux_bytes bytes, struct ux_error *err)
{
	if (ux_core_is(bytes))
		return ux_error_set(err, UX_EUNSUPPORTED, "not a profile: it is %s",
				    ux_file_kind(bytes));
	if (ux_crash_is(bytes, NULL))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "not a profile: it is a crash report; unhex symbolize names "
				    "its frames");
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "not a profile: expected pprof, OTLP, perf.data, the text of "
			    "perf script, folded stacks or a Firefox profile");
}

enum ux_code ux_profile_document_read(struct ux_profile_document *d, struct ux_bytes bytes,
				      struct ux_profile *p, struct ux_error *err)
{
	d->format = ux_profile_format_of(bytes);
	switch (d->format) {
	case UX_PROFILE_FORMAT_PPROF:
		return ux_pprof_read(&d->pprof, bytes, p, err);
	case UX_PROFILE_FORMAT_FOLDED:
		return ux_folded_read(bytes, p, err);
	case UX_PROFILE_FORMAT_OTLP:
		return ux_otlp_read(&d->otlp, bytes, p, err);
	case UX_PROFILE_FORMAT_OTLP_JSON:
		return ux_otlp_json_read(&d->otlp, bytes, &d->message, p, err);
	case UX_PROFILE_FORMAT_FIREFOX:
		return ux_firefox_read(&d->firefox, bytes, p, err);
	case UX_PROFILE_FORMAT_PERF_SCRIPT:
		return profile_document_script(d, bytes, p, err);
	case UX_PROFILE_FORMAT_PERF_DATA:
		return ux_perf_data_read(
			(struct ux_perf_source){.head = bytes, .fd = -1, .jit = d->jit}, p,
			&d->perf, err);
	case UX_PROFILE_FORMAT_NONE:
		break;
	}
	return profile_document_refuse(bytes, err);
}

void ux_profile_document_close(struct ux_profile_document *d)
{
	ux_out_deinit(&d->message);
	ux_firefox_close(&d->firefox);
	*d = (struct ux_profile_document){0};
}
