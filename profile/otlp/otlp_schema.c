/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of OTLP profiles. */
#include "otlp_schema.h"

#include "otlp_fields.h"

enum {
	FIELDS_MAX = 12 /* fields of a message, including the end */
};

#define ONE(number, type, name)                              \
	{                                                    \
		number, UX_OTLP_##type, UX_OTLP_ONE, 0, name \
	}
#define ONE_OF(number, type, name)                              \
	{                                                       \
		number, UX_OTLP_##type, UX_OTLP_ONE_OF, 0, name \
	}
#define MANY(number, type, name)                              \
	{                                                     \
		number, UX_OTLP_##type, UX_OTLP_MANY, 0, name \
	}
#define INNER(number, message, name)                                        \
	{                                                                   \
		number, UX_OTLP_INNER, UX_OTLP_ONE, UX_OTLP_##message, name \
	}
#define CHOICE(number, message, name)                                          \
	{                                                                      \
		number, UX_OTLP_INNER, UX_OTLP_ONE_OF, UX_OTLP_##message, name \
	}
#define TABLE(number, message, name)                                         \
	{                                                                    \
		number, UX_OTLP_INNER, UX_OTLP_MANY, UX_OTLP_##message, name \
	}

/* clang-format off */
static const struct ux_otlp_field otlp_messages[UX_OTLP_MESSAGE_COUNT][FIELDS_MAX] = {
	[UX_OTLP_REQUEST] = {
		TABLE(OTLP_RESOURCE_PROFILES, RESOURCE_PROFILES, "resourceProfiles"),
		INNER(OTLP_DICTIONARY, DICTIONARY, "dictionary"),
	},
	[UX_OTLP_RESOURCE_PROFILES] = {
		INNER(1, RESOURCE, "resource"),
		TABLE(OTLP_SCOPE_PROFILES, SCOPE_PROFILES, "scopeProfiles"),
		ONE(3, STRING, "schemaUrl"),
	},
	[UX_OTLP_RESOURCE] = {
		TABLE(1, KEY_VALUE, "attributes"),
		ONE(2, UINT32, "droppedAttributesCount"),
		TABLE(3, ENTITY_REF, "entityRefs"),
	},
	[UX_OTLP_ENTITY_REF] = {
		ONE(1, STRING, "schemaUrl"),
		ONE(2, STRING, "type"),
		MANY(3, STRING, "idKeys"),
		MANY(4, STRING, "descriptionKeys"),
	},
	[UX_OTLP_SCOPE_PROFILES] = {
		INNER(1, SCOPE, "scope"),
		TABLE(OTLP_PROFILES, PROFILE, "profiles"),
		ONE(3, STRING, "schemaUrl"),
	},
	[UX_OTLP_SCOPE] = {
		ONE(1, STRING, "name"),
		ONE(2, STRING, "version"),
		TABLE(3, KEY_VALUE, "attributes"),
		ONE(4, UINT32, "droppedAttributesCount"),
	},
	[UX_OTLP_PROFILE] = {
		INNER(OTLP_PROFILE_SAMPLE_TYPE, VALUE_TYPE, "sampleType"),
		TABLE(OTLP_PROFILE_SAMPLES, SAMPLE, "samples"),
		ONE(OTLP_PROFILE_TIME, FIXED64, "timeUnixNano"),
		ONE(OTLP_PROFILE_DURATION, UINT64, "durationNano"),
		INNER(5, VALUE_TYPE, "periodType"),
		ONE(6, INT64, "period"),
		ONE(7, TRACE_ID, "profileId"),
		ONE(8, UINT32, "droppedAttributesCount"),
		ONE(9, STRING, "originalPayloadFormat"),
		ONE(10, BYTES, "originalPayload"),
		MANY(11, INT32, "attributeIndices"),
	},
	[UX_OTLP_VALUE_TYPE] = {
		ONE(OTLP_TYPE, INT32, "typeStrindex"),
		ONE(OTLP_UNIT, INT32, "unitStrindex"),
	},
	[UX_OTLP_SAMPLE] = {
		ONE(OTLP_SAMPLE_STACK, INT32, "stackIndex"),
		MANY(2, INT32, "attributeIndices"),
		ONE(3, INT32, "linkIndex"),
		MANY(OTLP_SAMPLE_VALUES, INT64, "values"),
		MANY(OTLP_SAMPLE_TIMESTAMPS, FIXED64, "timestampsUnixNano"),
	},
	[UX_OTLP_DICTIONARY] = {
		TABLE(OTLP_MAPPING_TABLE, MAPPING, "mappingTable"),
		TABLE(OTLP_LOCATION_TABLE, LOCATION, "locationTable"),
		TABLE(OTLP_FUNCTION_TABLE, FUNCTION, "functionTable"),
		TABLE(OTLP_LINK_TABLE, LINK, "linkTable"),
		MANY(OTLP_STRING_TABLE, STRING, "stringTable"),
		TABLE(OTLP_ATTRIBUTE_TABLE, ATTRIBUTE, "attributeTable"),
		TABLE(OTLP_STACK_TABLE, STACK, "stackTable"),
	},
	[UX_OTLP_MAPPING] = {
		ONE(OTLP_MAPPING_START, UINT64, "memoryStart"),
		ONE(OTLP_MAPPING_LIMIT, UINT64, "memoryLimit"),
		ONE(OTLP_MAPPING_OFFSET, UINT64, "fileOffset"),
		ONE(OTLP_MAPPING_FILENAME, INT32, "filenameStrindex"),
		MANY(OTLP_MAPPING_ATTRIBUTES, INT32, "attributeIndices"),
	},
	[UX_OTLP_LOCATION] = {
		ONE(OTLP_LOCATION_MAPPING, INT32, "mappingIndex"),
		ONE(OTLP_LOCATION_ADDRESS, UINT64, "address"),
		TABLE(OTLP_LOCATION_LINES, LINE, "lines"),
		MANY(OTLP_LOCATION_ATTRIBUTES, INT32, "attributeIndices"),
	},
	[UX_OTLP_LINE] = {
		ONE(OTLP_LINE_FUNCTION, INT32, "functionIndex"),
		ONE(OTLP_LINE_LINE, INT64, "line"),
		ONE(OTLP_LINE_COLUMN, INT64, "column"),
	},
	[UX_OTLP_FUNCTION] = {
		ONE(OTLP_FUNCTION_NAME, INT32, "nameStrindex"),
		ONE(OTLP_FUNCTION_SYSTEM_NAME, INT32, "systemNameStrindex"),
		ONE(OTLP_FUNCTION_FILENAME, INT32, "filenameStrindex"),
		ONE(OTLP_FUNCTION_START_LINE, INT64, "startLine"),
	},
	[UX_OTLP_LINK] = {
		ONE(1, TRACE_ID, "traceId"),
		ONE(2, TRACE_ID, "spanId"),
	},
	[UX_OTLP_STACK] = {
		MANY(OTLP_STACK_LOCATIONS, INT32, "locationIndices"),
	},
	[UX_OTLP_ATTRIBUTE] = {
		ONE(OTLP_ATTRIBUTE_KEY, INT32, "keyStrindex"),
		INNER(OTLP_ATTRIBUTE_VALUE, ANY_VALUE, "value"),
		ONE(3, INT32, "unitStrindex"),
	},
	[UX_OTLP_KEY_VALUE] = {
		ONE(1, STRING, "key"),
		INNER(2, ANY_VALUE, "value"),
		ONE(3, INT32, "keyStrindex"),
	},
	[UX_OTLP_ANY_VALUE] = {
		ONE_OF(OTLP_VALUE_STRING, STRING, "stringValue"),
		ONE_OF(2, BOOL, "boolValue"),
		ONE_OF(3, INT64, "intValue"),
		ONE_OF(4, DOUBLE, "doubleValue"),
		CHOICE(5, ARRAY_VALUE, "arrayValue"),
		CHOICE(6, KEY_VALUE_LIST, "kvlistValue"),
		ONE_OF(7, BYTES, "bytesValue"),
		ONE_OF(OTLP_VALUE_STRING_INDEX, INT32, "stringValueStrindex"),
	},
	[UX_OTLP_ARRAY_VALUE] = {
		TABLE(1, ANY_VALUE, "values"),
	},
	[UX_OTLP_KEY_VALUE_LIST] = {
		TABLE(1, KEY_VALUE, "values"),
	},
};
/* clang-format on */

const struct ux_otlp_field *ux_otlp_fields(enum ux_otlp_message message)
{
	return otlp_messages[message];
}

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
