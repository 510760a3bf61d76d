/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of OTLP profiles, with the names and forms that they have in JSON. Source:
 * opentelemetry-proto 1.10; the mapping of proto3 to JSON; OTLP 1.10, "JSON Protobuf Encoding". */
#ifndef UX_OTLP_SCHEMA_H
#define UX_OTLP_SCHEMA_H

#include "base.h"
#include "id.h"

enum ux_otlp_message {
	UX_OTLP_REQUEST,
	UX_OTLP_RESOURCE_PROFILES,
	UX_OTLP_RESOURCE,
	UX_OTLP_ENTITY_REF,
	UX_OTLP_SCOPE_PROFILES,
	UX_OTLP_SCOPE,
	UX_OTLP_PROFILE,
	UX_OTLP_VALUE_TYPE,
	UX_OTLP_SAMPLE,
	UX_OTLP_DICTIONARY,
	UX_OTLP_MAPPING,
	UX_OTLP_LOCATION,
	UX_OTLP_LINE,
	UX_OTLP_FUNCTION,
	UX_OTLP_LINK,
	UX_OTLP_STACK,
	UX_OTLP_ATTRIBUTE,
	UX_OTLP_KEY_VALUE,
	UX_OTLP_ANY_VALUE,
	UX_OTLP_ARRAY_VALUE,
	UX_OTLP_KEY_VALUE_LIST,
	UX_OTLP_MESSAGE_COUNT,
};

enum ux_otlp_type {
	UX_OTLP_INT32,
	UX_OTLP_UINT32,
	UX_OTLP_INT64, /* 64 bits are strings in JSON, and may be numbers */
	UX_OTLP_UINT64,
	UX_OTLP_FIXED64,
	UX_OTLP_DOUBLE,
	UX_OTLP_BOOL,
	UX_OTLP_STRING,
	UX_OTLP_BYTES,    /* base64 */
	UX_OTLP_TRACE_ID, /* bytes in hexadecimal */
	UX_OTLP_INNER,    /* a message */
};

enum ux_otlp_repeat {
	UX_OTLP_ONE,
	UX_OTLP_ONE_OF, /* written even with a default value: it tells which member is set */
	UX_OTLP_MANY,
};

struct ux_otlp_field {
	uint32_t number; /* 0: the end of a message */
	enum ux_otlp_type type;
	enum ux_otlp_repeat repeat;
	enum ux_otlp_message message; /* of UX_OTLP_INNER */
	const char *name;
};

/* Returns the fields of a message; number 0 follows the last one. */
const struct ux_otlp_field *ux_otlp_fields(enum ux_otlp_message message);

/*
 * Takes the identity from a mapping's attribute if it is better than *id: a GNU build ID before a
 * File ID before a Go build ID. Other attributes, and malformed values, are ignored. Source:
 * OpenTelemetry semantic conventions, process.executable.build_id.*.
 */
void ux_otlp_id_take(struct ux_bytes key, struct ux_bytes value, struct ux_id *id);

#endif
