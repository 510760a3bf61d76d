/* SPDX-License-Identifier: Apache-2.0 */
/* The field numbers of OTLP profiles. Source: opentelemetry-proto 1.10, profiles/v1development. */
#ifndef UX_OTLP_FIELDS_H
#define UX_OTLP_FIELDS_H

enum otlp_request_field {
	OTLP_RESOURCE_PROFILES = 1,
	OTLP_DICTIONARY = 2,
};

enum otlp_dictionary_field {
	OTLP_MAPPING_TABLE = 1,
	OTLP_LOCATION_TABLE = 2,
	OTLP_FUNCTION_TABLE = 3,
	OTLP_LINK_TABLE = 4,
	OTLP_STRING_TABLE = 5,
	OTLP_ATTRIBUTE_TABLE = 6,
	OTLP_STACK_TABLE = 7,
};

enum otlp_mapping_field {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT = 2,
	OTLP_MAPPING_OFFSET = 3,
	OTLP_MAPPING_FILENAME = 4,
	OTLP_MAPPING_ATTRIBUTES = 5,
};

enum otlp_location_field {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS = 2,
	OTLP_LOCATION_LINES = 3, /* the innermost function first */
	OTLP_LOCATION_ATTRIBUTES = 4,
};

enum otlp_line_field {
	OTLP_LINE_FUNCTION = 1,
	OTLP_LINE_LINE = 2,
	OTLP_LINE_COLUMN = 3,
};

enum otlp_function_field {
	OTLP_FUNCTION_NAME = 1,
	OTLP_FUNCTION_SYSTEM_NAME = 2,
	OTLP_FUNCTION_FILENAME = 3,
	OTLP_FUNCTION_START_LINE = 4,
};

/* KeyValueAndUnit */
enum otlp_attribute_field {
	OTLP_ATTRIBUTE_KEY = 1,
	OTLP_ATTRIBUTE_VALUE = 2,
};

/* AnyValue */
enum otlp_value_field {
	OTLP_VALUE_STRING = 1,
	OTLP_VALUE_STRING_INDEX = 8,
};

enum otlp_stack_field {
	OTLP_STACK_LOCATIONS = 1, /* the leaf first */
};

enum otlp_resource_profiles_field {
	OTLP_RESOURCE = 1,
	OTLP_SCOPE_PROFILES = 2,
};

enum otlp_resource_field {
	OTLP_RESOURCE_ATTRIBUTES = 1,
};

/* KeyValue, of resources */
enum otlp_key_value_field {
	OTLP_KEY_VALUE_KEY = 1,
	OTLP_KEY_VALUE_VALUE = 2,
	OTLP_KEY_VALUE_KEY_INDEX = 3, /* a string of the dictionary */
};

enum otlp_scope_profiles_field {
	OTLP_PROFILES = 2,
};

enum otlp_profile_field {
	OTLP_PROFILE_SAMPLE_TYPE = 1,
	OTLP_PROFILE_SAMPLES = 2,
	OTLP_PROFILE_TIME = 3,
	OTLP_PROFILE_DURATION = 4,
};

enum otlp_sample_field {
	OTLP_SAMPLE_STACK = 1,
	OTLP_SAMPLE_VALUES = 4,
	OTLP_SAMPLE_TIMESTAMPS = 5,
};

enum otlp_value_type_field {
	OTLP_TYPE = 1,
	OTLP_UNIT = 2,
};

#endif
