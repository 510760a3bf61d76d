# SPDX-License-Identifier: Apache-2.0
"""The end-to-end tests that take longest, 20 s to 5 min each: half of the time of all. CI runs a quarter of them on each
commit, in turn; everybody else runs all of them.
"""
import os

TURNS = 4
LONG = (
    "test_access.py::test_a_body_without_a_length_hears_why_it_is_refused_while_it_is_sent",
    "test_agent_host.py::test_a_host_is_known_to_the_server_and_named_by_it",
    "test_agent_operation.py::test_a_kill_at_any_time_leaves_a_state_that_can_be_read",
    "test_agent_operation.py::test_large_programs_do_not_wait_for_thousands_of_small_ones",
    "test_agent_operation.py::test_many_different_programs_take_no_memory_for_good",
    "test_agent_operation.py::test_programs_of_a_user_do_not_wait_for_thousands_of_another_one",
    "test_agent_share.py::test_a_host_at_rest_costs_less_than_a_thousandth_of_a_core",
    "test_agent_share.py::test_programs_that_live_a_second_are_seen_in_containers_too",
    "test_backup.py::test_a_backup_that_is_killed_leaves_the_one_before",
    "test_ci_recipes.py::test_go_programs_of_one_commit_have_different_ids",
    "test_clone.py::test_minisign_verifies_our_signatures_and_we_verify_its",
    "test_disk.py::test_a_full_disk_is_mended_by_a_delete",
    "test_elf_uploads.py::test_a_thousand_damaged_files_cost_the_server_nothing",
    "test_fleet.py::test_nothing_is_lost_while_nodes_die",
    "test_fleet.py::test_one_node_does_maintenance_and_another_follows_it",
    "test_fleet_containers.py::test_the_composition_runs",
    "test_fleet_containers.py::test_the_pods_run",
    "test_go.py::test_programs_for_other_machines_are_read",
    "test_go.py::test_stacks_are_what_the_runtime_says",
    "test_interp.py::test_a_busy_interpreter_never_gives_a_wrong_stack",
    "test_interp.py::test_every_instruction_of_the_standard_library_has_its_line",
    "test_interp_ruby.py::test_a_busy_ruby_never_gives_a_wrong_stack",
    "test_kept_profiles.py::test_old_profiles_go_and_what_is_kept_has_a_size",
    "test_kill.py::test_nothing_acknowledged_is_lost_and_nothing_else_is_visible",
    "test_macho.py::test_programs_of_go_are_read_with_the_dwarf_that_go_compresses",
    "test_memory.py::test_names_alone_are_extracted_within_what_the_agent_has",
    "test_otlp_soak.py::test_a_soak_of_messages_loses_none",
    "test_postgres_backup.py::test_a_backup_of_a_bucket_and_its_database_has_what_was_confirmed_before_it_began",
    "test_power_cut.py::test_after_each_call_as_the_last_one_all_that_was_acknowledged_is_whole",
    "test_push.py::test_a_fault_of_some_seconds_does_not_fail_a_push",
    "test_push.py::test_a_server_is_not_queried_before_its_retry_after",
    "test_push_archives.py::test_a_bomb_ends_at_its_ratio",
    "test_s3.py::test_each_index_conforms_with_a_bucket_that_fails",
    "test_s3.py::test_metrics_count_requests_and_copies",
    "test_s3_parts.py::test_many_cold_gsyms_stay_within_the_limit_of_the_disk",
    "test_s3_presigned.py::test_an_interrupted_push_goes_on_where_it_was",
    "test_server.py::test_many_idle_connections_leave_descriptors_for_the_work",
    "test_store_migrate.py::test_the_files_go_to_a_bucket_and_back",
    "test_terminal.py::test_an_extraction_shows_its_progress_on_a_terminal",
    "test_upgrade.py::test_a_second_process_with_the_name_of_a_node_is_noticed",
    "test_upgrade.py::test_a_version_that_excludes_a_running_node_waits_until_it_has_ended",
    "test_web.py::test_an_upload_goes_on_when_the_network_is_lost_without_a_sign",
)


def left_out(file, function):
    """True if CI runs this test on another commit, not on this one: UNHEX_TURN is the turn of this one."""
    turn = os.environ.get("UNHEX_TURN")
    name = f"{file}::{function}"
    return bool(turn) and name in LONG and LONG.index(name) % TURNS != int(turn)
