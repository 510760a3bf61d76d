/* SPDX-License-Identifier: Apache-2.0 */
/* agent_state: known files stay known, whatever happens to the state's file. */
#include "sweep.h"

#include "agent_state.h"
#include "file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NOW = 1800000000,
	DAY = 86400,
};

static char folder[64];
static char path[80];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/unhex-state-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/known", folder);
	return 0;
}

static int drop_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void open_state(struct ux_agent_state *s, const char *url)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_agent_state_open(s, path, url, &err) != UX_OK)
		fail_msg("%s", err.text);
}

static struct ux_mapped_key file_number(uint64_t i)
{
	return (struct ux_mapped_key){.dev = 8, .ino = i, .size = 4096, .mtime_ns = 17};
}

static void put_file(struct ux_agent_state *s, uint64_t i, enum ux_agent_known known, int64_t now)
{
	const struct ux_mapped_key file = file_number(i);
	ux_agent_state_put(s, ux_agent_file_key(s, &file), known, now);
}

static enum ux_agent_known find_file(struct ux_agent_state *s, uint64_t i, int64_t now)
{
	const struct ux_mapped_key file = file_number(i);
	return ux_agent_state_find(s, ux_agent_file_key(s, &file), now);
}

static void an_answer_is_known_to_the_next_process(void **state)
{
	(void)state;
	struct ux_agent_state s, next;
	const struct ux_id id = {.type = UX_ID_GNU, .size = 20, .bytes = {1, 2, 3}};
	open_state(&s, "http://one");
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_UNKNOWN);
	put_file(&s, 1, UX_AGENT_THERE, NOW);
	put_file(&s, 2, UX_AGENT_NOTHING, NOW);
	ux_agent_state_put(&s, ux_agent_id_key(&s, &id, UX_TRUST_HOST), UX_AGENT_PUBLIC, NOW);
	/* s is left open, as if its process was killed */
	open_state(&next, "http://one");
	assert_int_equal(find_file(&next, 1, NOW + 60), UX_AGENT_THERE);
	assert_int_equal(find_file(&next, 2, NOW + 60), UX_AGENT_NOTHING);
	assert_int_equal(find_file(&next, 3, NOW + 60), UX_AGENT_UNKNOWN);
	assert_int_equal(
		ux_agent_state_find(&next, ux_agent_id_key(&next, &id, UX_TRUST_HOST), NOW),
		UX_AGENT_PUBLIC);
	ux_agent_state_close(&next);
	ux_agent_state_close(&s);
}

static void each_part_of_a_file_makes_it_another_one(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	put_file(&s, 1, UX_AGENT_THERE, NOW);
	for (unsigned i = 0; i < 4; i++) {
		struct ux_mapped_key other = file_number(1);
		other.dev += i == 0;
		other.ino += i == 1;
		other.size += i == 2;
		other.mtime_ns += i == 3;
		assert_int_equal(ux_agent_state_find(&s, ux_agent_file_key(&s, &other), NOW),
				 UX_AGENT_UNKNOWN);
	}
	ux_agent_state_close(&s);
}

static void another_server_knows_nothing(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	put_file(&s, 1, UX_AGENT_THERE, NOW);
	ux_agent_state_close(&s);
	open_state(&s, "http://two");
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_UNKNOWN);
	ux_agent_state_close(&s);
	open_state(&s, "http://one");
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_THERE);
	ux_agent_state_close(&s);
}

static void an_answer_ends_after_its_time_and_not_with_all_others(void **state)
{
	(void)state;
	struct ux_agent_state s;
	enum {
		FILES = 200
	};
	unsigned early = 0;
	open_state(&s, "http://one");
	for (uint64_t i = 0; i < FILES; i++)
		put_file(&s, i, UX_AGENT_THERE, NOW);
	for (uint64_t i = 0; i < FILES; i++) {
		assert_int_equal(find_file(&s, i, NOW + 6 * DAY), UX_AGENT_THERE);
		early += find_file(&s, i, NOW + 6 * DAY + DAY / 2) == UX_AGENT_UNKNOWN;
		assert_int_equal(find_file(&s, i, NOW + 7 * DAY), UX_AGENT_UNKNOWN);
	}
	assert_in_range(early, FILES / 4, FILES * 3 / 4);
	ux_agent_state_close(&s);
}

static void a_clock_that_is_set_back_neither_ends_nor_prolongs_an_answer(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	put_file(&s, 1, UX_AGENT_THERE, NOW + 3650 * (int64_t)DAY);
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_THERE);
	assert_int_equal(find_file(&s, 1, NOW + 7 * DAY), UX_AGENT_UNKNOWN);
	put_file(&s, 2, UX_AGENT_THERE, -5);
	assert_int_equal(find_file(&s, 2, 0), UX_AGENT_THERE);
	ux_agent_state_close(&s);
}

/* The content of the file; the caller unmaps it. */
static struct ux_mapping read_file(void)
{
	struct ux_mapping m = {0};
	assert_int_equal(ux_file_map(path, &m, NULL), UX_OK);
	return m;
}

static void each_prefix_of_the_file_has_the_records_that_are_complete(void **state)
{
	(void)state;
	struct ux_agent_state s;
	enum {
		FILES = 5
	};
	open_state(&s, "http://one");
	for (uint64_t i = 0; i < FILES; i++)
		put_file(&s, i, UX_AGENT_THERE, NOW);
	ux_agent_state_close(&s);
	struct ux_mapping m = read_file();
	size_t size = m.bytes.size;
	uint8_t copy[(1 + FILES) * UX_AGENT_RECORD_SIZE];
	assert_int_equal(size, sizeof(copy));
	memcpy(copy, m.bytes.data, size);
	ux_file_unmap(&m);
	for (size_t n = 0; n <= size; n++) {
		int fd = open(path, O_WRONLY | O_TRUNC);
		assert_int_equal(write(fd, copy, n), (ssize_t)n);
		close(fd);
		enum ux_code code = ux_agent_state_open(&s, path, "http://one", NULL);
		if (n > 0 && n < UX_AGENT_RECORD_SIZE) {
			assert_int_equal(code, UX_EUNSUPPORTED);
			continue;
		}
		assert_int_equal(code, UX_OK);
		for (uint64_t i = 0; i < FILES; i++)
			assert_int_equal(find_file(&s, i, NOW), (i + 2) * UX_AGENT_RECORD_SIZE <= n
									? UX_AGENT_THERE
									: UX_AGENT_UNKNOWN);
		/* Later appended entries are readable. */
		put_file(&s, 99, UX_AGENT_NOTHING, NOW);
		ux_agent_state_close(&s);
		open_state(&s, "http://one");
		assert_int_equal(find_file(&s, 99, NOW), UX_AGENT_NOTHING);
		ux_agent_state_close(&s);
	}
}

static void a_damaged_record_costs_itself_alone(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	for (uint64_t i = 0; i < 3; i++)
		put_file(&s, i, UX_AGENT_THERE, NOW);
	ux_agent_state_close(&s);
	for (unsigned bit = 0; bit < 8 * UX_AGENT_RECORD_SIZE; bit++) {
		uint64_t damaged = 0;
		struct ux_mapping m = read_file();
		uint8_t copy[4 * UX_AGENT_RECORD_SIZE];
		assert_int_equal(m.bytes.size, sizeof(copy));
		memcpy(copy, m.bytes.data, sizeof(copy));
		ux_file_unmap(&m);
		copy[2 * UX_AGENT_RECORD_SIZE + bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(ux_agent_state_open(&s, NULL, "http://one", NULL), UX_OK);
		assert_int_equal(
			ux_agent_state_parse(&s, ux_bytes(copy, sizeof(copy)), &damaged, NULL),
			UX_OK);
		assert_int_equal(damaged, 1);
		assert_int_equal(find_file(&s, 0, NOW), UX_AGENT_THERE);
		assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_UNKNOWN);
		assert_int_equal(find_file(&s, 2, NOW), UX_AGENT_THERE);
		ux_agent_state_close(&s);
	}
}

static void the_file_stays_small_however_often_answers_change(void **state)
{
	(void)state;
	struct ux_agent_state s;
	struct stat st;
	open_state(&s, "http://one");
	for (uint64_t round = 0; round < 100; round++)
		for (uint64_t i = 0; i < 100; i++)
			put_file(&s, i, UX_AGENT_THERE, NOW + (int64_t)round);
	ux_agent_state_close(&s);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 101 * UX_AGENT_RECORD_SIZE,
			(2 * 100 + UX_AGENT_STATE_SLACK + 2) * UX_AGENT_RECORD_SIZE);
	open_state(&s, "http://one");
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(find_file(&s, i, NOW), UX_AGENT_THERE);
	ux_agent_state_close(&s);
}

static void the_least_recently_used_answers_make_room(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	for (uint64_t i = 0; i < UX_AGENT_KNOWN_MAX; i++)
		put_file(&s, i, UX_AGENT_THERE, NOW);
	assert_int_equal(find_file(&s, 0, NOW), UX_AGENT_THERE);
	put_file(&s, UX_AGENT_KNOWN_MAX, UX_AGENT_THERE, NOW);
	assert_int_equal(find_file(&s, 0, NOW), UX_AGENT_THERE);
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_UNKNOWN);
	ux_agent_state_close(&s);
}

static void a_foreign_file_is_refused_and_stays(void **state)
{
	(void)state;
	struct ux_agent_state s;
	struct ux_error err = UX_ERROR_INIT;
	static const char text[] = "these are notes of a person, and no list of the agent\n";
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(ux_agent_state_open(&s, path, "http://one", &err), UX_EUNSUPPORTED);
	struct ux_mapping m = read_file();
	assert_int_equal(m.bytes.size, strlen(text));
	assert_memory_equal(m.bytes.data, text, strlen(text));
	ux_file_unmap(&m);
}

static void an_answer_that_cannot_be_written_is_known_until_the_end(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	close(s.fd);
	s.fd = open("/dev/full", O_WRONLY);
	put_file(&s, 1, UX_AGENT_THERE, NOW);
	assert_int_equal(s.not_written, 1);
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_THERE);
	ux_agent_state_close(&s);
}

static struct ux_agent_key number_key(const struct ux_agent_state *s, const char *kind, uint64_t i)
{
	const uint64_t numbers[] = {i, 17};
	return ux_agent_number_key(s, kind, numbers, ux_countof(numbers));
}

static void a_number_is_known_to_the_next_process_with_its_time(void **state)
{
	(void)state;
	struct ux_agent_state s, next;
	const uint64_t max = (UINT64_C(1) << UX_AGENT_NUMBER_BITS) - 1;
	uint64_t number = 1;
	int64_t at = 1;
	open_state(&s, "http://one");
	ux_agent_state_put_number(&s, number_key(&s, "file", 1), 0, NOW);
	ux_agent_state_put_number(&s, number_key(&s, "file", 2), max, NOW + 5);
	ux_agent_state_put_number(&s, number_key(&s, "file", 3), max + 1, NOW);
	put_file(&s, 4, UX_AGENT_THERE, NOW);
	ux_agent_state_close(&s);
	open_state(&next, "http://one");
	assert_true(ux_agent_state_find_number(&next, number_key(&next, "file", 1), NOW + 60,
					       &number, &at));
	assert_int_equal(number, 0);
	assert_int_equal(at, NOW);
	assert_true(ux_agent_state_find_number(&next, number_key(&next, "file", 2), NOW + 60,
					       &number, &at));
	assert_true(number == max);
	assert_int_equal(at, NOW + 5);
	/* too great a number, another kind, another object, not a number, too old */
	const struct ux_mapped_key file = file_number(4);
	const struct ux_agent_key none[] = {
		number_key(&next, "file", 3),
		number_key(&next, "start", 1),
		number_key(&next, "file", 9),
		ux_agent_file_key(&next, &file),
	};
	for (size_t i = 0; i < ux_countof(none); i++)
		assert_false(ux_agent_state_find_number(&next, none[i], NOW, &number, &at));
	assert_false(ux_agent_state_find_number(&next, number_key(&next, "file", 2),
						NOW + 8 * (int64_t)DAY, &number, &at));
	ux_agent_state_close(&next);
}

static void what_another_version_has_kept_is_begun_anew(void **state)
{
	(void)state;
	struct ux_agent_state s;
	open_state(&s, "http://one");
	put_file(&s, 1, UX_AGENT_THERE, NOW);
	ux_agent_state_close(&s);
	int fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "1", 1, (off_t)strlen("unhex agent: known files, v")), 1);
	close(fd);
	open_state(&s, "http://one");
	assert_int_equal(find_file(&s, 1, NOW), UX_AGENT_UNKNOWN);
	put_file(&s, 2, UX_AGENT_NOTHING, NOW);
	ux_agent_state_close(&s);
	open_state(&s, "http://one");
	assert_int_equal(find_file(&s, 2, NOW), UX_AGENT_NOTHING);
	ux_agent_state_close(&s);
}

#define STATE_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, drop_folder)

UX_SUITE(agent_state)
{
	const struct CMUnitTest tests[] = {
		STATE_TEST(an_answer_is_known_to_the_next_process),
		STATE_TEST(each_part_of_a_file_makes_it_another_one),
		STATE_TEST(another_server_knows_nothing),
		STATE_TEST(an_answer_ends_after_its_time_and_not_with_all_others),
		STATE_TEST(a_clock_that_is_set_back_neither_ends_nor_prolongs_an_answer),
		STATE_TEST(each_prefix_of_the_file_has_the_records_that_are_complete),
		STATE_TEST(a_damaged_record_costs_itself_alone),
		STATE_TEST(the_file_stays_small_however_often_answers_change),
		STATE_TEST(the_least_recently_used_answers_make_room),
		STATE_TEST(a_foreign_file_is_refused_and_stays),
		STATE_TEST(an_answer_that_cannot_be_written_is_known_until_the_end),
		STATE_TEST(a_number_is_known_to_the_next_process_with_its_time),
		STATE_TEST(what_another_version_has_kept_is_begun_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
