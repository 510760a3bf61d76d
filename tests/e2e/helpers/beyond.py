# SPDX-License-Identifier: Apache-2.0
"""Which end-to-end tests need more than a compiler and Python, and what.

`./dev test` leaves these out, so that anybody can run it anywhere; `./dev test --all` runs them. A test that is not
listed has to pass on a bare Debian with the packages of `packages_for test` in `./dev`.
"""
import os

# What a test needs: its file, and the functions of it that need it, all of them where none is named. "time" needs
# some ten seconds or more.
NEEDS = {
    "chromium": {
        "test_flame.py":
            "test_a_large_profile_is_drawn_at_once test_a_picture_needs_no_script_and_its_texts_fit "
            "test_a_real_program_shows_a_function_and_what_is_inlined_into_it "
            "test_an_empty_profile_has_a_page_that_says_so test_hostile_names_stay_names "
            "test_search_zoom_and_the_inverted_view test_speedscope_reads_it test_the_difference_of_two_profiles "
            "test_the_page_is_for_everybody",
        "test_kept_profiles.py":
            "test_a_frame_of_the_graph_opens_its_source_and_its_code test_pages_are_usable_by_everyone "
            "test_the_graph_of_a_span_is_one_click_away",
        "test_pictures.py": "",
        "test_web.py":
            "test_a_module_is_found_by_each_form_of_its_ids_and_by_its_name "
            "test_a_module_is_shown_with_all_that_is_known_of_it "
            "test_a_module_leads_to_its_functions_and_source_files test_a_pasted_stack_gets_its_names "
            "test_a_real_file_is_sent_in_pieces_with_progress_and_survives_a_lost_network "
            "test_a_session_stands_for_a_key_and_holds_no_token test_an_error_says_what_a_person_can_do_next "
            "test_an_upload_goes_on_when_the_network_is_lost_without_a_sign test_each_page_is_for_everybody "
            "test_explain_says_it_in_one_sentence_and_gives_commands_that_run "
            "test_explain_shows_frames_the_decision_and_what_would_help "
            "test_files_and_folders_can_be_dropped_on_any_page "
            "test_files_without_an_id_and_files_that_are_none_get_their_word "
            "test_functions_are_found_by_a_part_of_their_names_in_any_case "
            "test_keys_alone_reach_everything_and_show_where_they_are "
            "test_light_and_dark_are_what_the_system_asks_for test_lists_are_cut_into_pages_that_together_are_all "
            "test_names_of_strangers_are_text_wherever_they_are "
            "test_other_builds_and_the_name_of_a_key_are_on_the_page_of_a_module "
            "test_pictures_of_the_documents_are_of_pages_as_they_are "
            "test_status_shows_trends_missing_modules_and_the_disk "
            "test_where_reading_needs_a_key_pages_ask_for_one test_who_comes_by_a_token_in_the_path_stays_in_it",
        "test_web_crash.py":
            "test_a_name_of_several_builds_takes_one_click "
            "test_a_stack_has_a_link_and_a_frame_its_source_and_code",
    },
    "clang": {
        "test_columns.py": "",
        "test_few_addresses.py": "test_parts_say_what_the_whole_says test_units_of_two_compilers",
        "test_library.py":
            "test_the_example_of_a_profiler test_the_example_of_gpu_code "
            "test_the_example_runs_with_the_shared_library",
        "test_llvm_symbolizer.py":
            "test_a_sanitizers_report_is_the_one_that_llvm_makes "
            "test_variables_are_reported_with_where_they_are_declared",
        "test_machines.py":
            "test_a_debug_file_of_a_moved_module_is_refused "
            "test_a_program_linked_away_from_its_place_in_the_file_keeps_its_addresses "
            "test_every_machines_programs_come_out_as_llvm_symbolizer_says "
            "test_symbols_of_powerpc_name_code_by_either_abi",
        "test_macho.py": "",
        "test_names.py": "test_simple_template_names_lose_no_arguments",
        "test_proc_bpf.py": "",
        "test_push_archives.py": "test_a_macos_library_and_its_bundle_in_an_archive",
        "test_record_bpf.py": "",
        "test_relocatable.py":
            "test_compact_relocations_say_the_same test_every_machines_objects_come_out_as_llvm_symbolizer_says "
            "test_several_code_sections_lie_one_behind_the_other test_uleb128_distances_of_risc_v",
        "test_split.py":
            "test_a_signal_ends_dsymutil_and_leaves_no_temporary_folder "
            "test_macos_library_whose_bundle_cannot_be_made_stays_as_it_is "
            "test_macos_wheel_keeps_its_libraries_and_their_bundles_are_taken_out",
        "test_split_dwarf.py":
            "test_a_dwo_of_another_build_is_not_taken "
            "test_a_missing_dwo_costs_its_unit_the_inlined_frames_and_nothing_else "
            "test_a_moved_folder_keeps_its_frames_when_the_dwo_files_are_beside_it "
            "test_damaged_dwo_files_and_packages_are_reported_and_cost_only_themselves "
            "test_frames_from_a_package_equal_llvm test_frames_from_dwo_files_where_they_were_compiled_equal_llvm "
            "test_inlined_calls_in_the_skeleton_stand_in_for_a_missing_dwo "
            "test_linked_objects_of_link_time_optimisation_share_one_dwo "
            "test_the_package_of_a_debug_file_is_found_under_both_names "
            "test_what_clang_can_add_to_split_units_changes_no_frame",
        "test_split_uploads.py": "test_a_package_is_read_with_the_program test_push_sends_the_package_too",
        "test_stripped.py":
            "test_every_machine_calls_what_its_stubs_are_named_after "
            "test_first_calls_of_powerpc_have_the_names_that_objdump_prints",
        "test_upstreams.py": "test_a_source_of_another_version_is_known_by_its_hash",
    },
    "cmake": {
        "test_ci_recipes.py": "test_build_systems",
    },
    "curl": {
        "test_access.py": "test_a_body_without_a_length_hears_why_it_is_refused_while_it_is_sent",
        "test_ci_recipes.py":
            "test_a_hosted_ci_installs_a_release_and_pushes test_a_hosted_ci_refuses_another_release",
        "test_migrate_push.py": "test_our_side_of_a_row",
        "test_operation.py":
            "test_a_new_certificate_is_shown_after_sighup_and_connections_stay "
            "test_a_passed_unix_socket_is_served_and_not_open test_https_is_spoken_with_the_file_and_nothing_else",
        "test_push_archives.py":
            "test_the_symbols_are_the_bytes_of_an_extraction_from_the_file "
            "test_with_debuginfo_sends_the_members_themselves",
        "test_push_inputs.py": "test_a_ready_gsym_is_sent_as_it_is",
    },
    "debuginfod": {
        "test_access.py":
            "test_an_open_namespace_is_named_in_the_path "
            "test_clients_that_send_no_header_have_their_token_in_the_path "
            "test_debuginfods_clients_wait_for_their_turn_and_find_what_there_is",
        "test_away.py": "test_elfutils_client_asks_again_when_an_upstream_is_back",
        "test_clone.py":
            "test_a_folder_is_served_without_a_database "
            "test_a_static_web_server_serves_debuginfods_clients_and_gdb",
        "test_debuginfod.py":
            "test_what_elfutils_client_fetched_is_used "
            "test_what_elfutils_server_has_is_fetched_once_and_shared_with_its_client",
        "test_debuginfod_clients.py": "",
        "test_debuginfod_server.py": "test_debuginfod_find_gets_both_files_and_a_section",
        "test_migrate.py": "",
        "test_upstreams.py": "test_debians_debuginfod_is_an_upstream",
    },
    "docker-registry": {
        "test_push_images.py": "test_an_image_of_a_registry",
    },
    "elfutils": {
        "test_debuginfod_server.py": "test_eu_addr2line_names_a_stripped_program",
        "test_split.py": "test_both_parts_are_whole_and_the_answers_are_the_same test_empty_section_stays_in_its_segment",
    },
    "erlang": {
        "test_jit.py": "test_erlang_with_a_perf_map_and_a_jitdump",
    },
    "fish": {
        "test_completion.py": "test_fish_offers_every_option_with_what_it_does test_what_is_typed_is_completed",
    },
    "gcc for arm": {
        "test_core_dumps.py": "",
    },
    "gdb": {
        "test_core_signals.py": "",
        "test_cli_id.py": "test_a_core_dump_lists_its_modules",
        "test_crash_engine.py":
            "test_a_report_of_a_debugger_gets_the_same_names_everywhere "
            "test_a_report_with_mappings_and_one_of_a_sanitizer_do_too",
        "test_crash_reports.py":
            "test_a_core_dump_has_the_stacks_that_elfutils_finds "
            "test_a_damaged_core_dump_is_read_as_far_as_it_goes_or_said_to_be "
            "test_a_name_with_several_files_is_not_resolved_by_a_guess "
            "test_a_server_is_searched_by_name_and_never_guesses test_a_server_names_what_is_not_here "
            "test_each_frame_of_a_crash_gets_its_name test_gdbs_frames_get_names_where_the_text_has_mappings "
            "test_native_frames_of_py_spy_get_names_by_pasted_mappings",
        "test_debug_files.py":
            "test_a_link_is_followed_below_the_folders_of_debug_files "
            "test_a_link_is_followed_to_the_folder_of_the_binary "
            "test_a_link_that_means_no_debug_file_of_it_is_reported test_the_tree_of_build_ids_comes_first",
        "test_debuginfod_server.py": "test_gdb_sees_lines_of_a_stripped_program",
        "test_dwz_uploads.py": "test_gdb_finds_lines_and_locals",
        "test_split.py": "test_debug_files_may_be_in_a_tree_of_build_ids",
        "test_stripped.py": "test_compressed_symbols_name_functions_as_the_full_table_does",
        "test_web_crash.py": "test_each_frame_of_a_pasted_crash_gets_its_name test_stacks_of_gdb_and_panics_of_go_are_complete",
    },
    "gfortran": {
        "test_names.py":
            "test_a_second_entry_of_fortran_is_named_as_by_llvm_symbolizer "
            "test_fortran_procedures_are_called_by_their_modules",
    },
    "go": {
        "test_ci_recipes.py":
            "test_go_programs_of_one_commit_have_different_ids "
            "test_go_without_arguments_builds_the_program_of_the_folder",
        "test_crash_engine.py": "test_a_panic_of_go_gets_the_same_names_everywhere",
        "test_crash_reports.py": "test_a_panic_of_go_keeps_its_names_and_its_signal_has_an_address",
        "test_go.py": "",
        "test_kept_profiles.py": "test_go_tool_pprof_reads_a_kept_profile_and_a_span test_pprof_fetches_names_of_addresses_from_here",
        "test_push_go.py": "",
        "test_protocols.py": "test_go_tool_pprof_gets_its_names",
        "test_stripped_go.py": "",
        "test_symbolize.py": "test_the_standard_tool_reads_the_answer",
        "test_top.py": "test_go_tool_pprof_has_the_same_table",
    },
    "gpg": {
        "test_crawl_debian.py": "",
        "test_crawl_debian_sources.py": "",
        "test_crawl_indexes.py": "test_with_keys_a_database_has_to_be_signed",
        "test_crawl_sad.py": "",
    },
    "interpreters": {
        "test_agent_host.py": "",
        "test_interp.py": "test_there_are_old_and_new_layouts",
        "test_interp_ruby.py": "",
        "test_jit.py": "test_cpython_with_a_perf_map",
    },
    "java": {
        "test_crash_engine.py": "test_hs_err_gets_the_same_names_everywhere",
        "test_crash_reports.py": "test_hs_err_has_the_mappings_of_its_process",
        "test_jit.py": "test_java_with_a_map_on_request",
        "test_web_crash.py": "test_ten_kinds_of_text_are_named_however_they_come_to_be_pasted",
    },
    "kernel packages": {
        "test_proc_kernel.py": "test_modules_as_debian_ships_them",
    },
    "kubernetes": {
        "test_fleet_containers.py": "",
    },
    "languages": {
        "test_demangle.py": "test_d_names_read_as_binutils_write_them test_rust_names_read_as_llvm_writes_them",
    },
    "llvm": {
        "test_cli_gsym.py": "test_llvm_reads_what_we_write",
        "test_demangle.py": "test_names_read_as_llvm_writes_them_on_request test_no_name_that_another_tool_reads_is_left",
        "test_gsym_v2.py": "test_llvm_19_gives_the_same_frames_with_alternatives",
        "test_names_and_offsets.py": "test_llvm_passes_over_the_table",
        "test_llvm_symbolizer.py":
            "test_addresses_of_one_object_may_stand_on_the_command_line "
            "test_json_is_a_list_of_the_command_lines_requests_and_else_a_line_each "
            "test_llvm_addr2line_is_another_name_for_it test_requests_are_answered_as_llvm_answers_them",
        "test_names.py":
            "test_lines_of_the_debug_file_and_symbols_of_the_program_are_put_together "
            "test_symbols_are_used_where_there_are_some",
        "test_relocatable.py": "test_loongarch_distances",
        "test_split_dwarf.py": "test_type_units_in_dwo_files_are_passed_over",
    },
    "make": {
        "test_ci_recipes.py": "test_make",
    },
    "mandoc": {
        "test_man.py":
            "test_a_page_has_every_option_of_the_help test_a_page_has_examples test_a_page_has_no_slip "
            "test_the_settings_page_has_every_key",
    },
    "minisign": {
        "test_clone.py":
            "test_a_manifest_that_is_too_old_is_refused test_an_earlier_signed_manifest_cannot_be_replayed "
            "test_minisign_verifies_our_signatures_and_we_verify_its",
        "test_release.py": "test_sources_checksums_and_signature",
    },
    "nginx": {
        "test_caches.py": "",
    },
    "node": {
        "test_agent_jit.py":
            "test_a_file_of_another_user_is_not_believed "
            "test_a_perf_map_names_a_recording_when_the_process_is_gone "
            "test_a_process_in_another_mount_and_process_namespace_is_sent "
            "test_a_restart_sends_only_code_that_is_new test_damaged_files_cost_only_themselves "
            "test_without_the_option_nothing_of_run_time_code_is_sent",
        "test_jit.py":
            "test_node_addresses_in_its_own_file_are_the_files "
            "test_node_sampled_by_perf_is_named_as_perf_names_it test_node_with_a_jitdump "
            "test_node_with_a_perf_map",
        "test_jit_places.py": "test_interpreted_functions_of_node_with_frames_of_their_own",
    },
    "perf": {
        "test_perf.py": "",
        "test_perf_data.py": "",
        "test_profile_jit.py":
            "test_a_perf_map_has_no_times_and_that_is_said test_code_that_moves_has_the_names_that_perf_gives_it "
            "test_node_has_the_names_that_perf_gives_it test_samples_without_callchains_have_names "
            "test_the_text_of_perf_script_has_the_code_of_its_times test_without_times_of_its_clock_that_is_said",
        "test_record.py": "",
        "test_symbolize.py":
            "test_inlined_calls_of_copied_stacks_are_those_of_perf_script "
            "test_other_fields_of_perf_script_are_read_too test_recordings_keep_their_times_in_formats_of_viewers "
            "test_recordings_of_perf_are_named_with_inlined_calls "
            "test_the_text_of_perf_script_gets_names_and_keeps_the_rest",
        "test_unwind.py": "",
    },
    "pgbouncer": {
        "test_pooler.py": "",
    },
    "php": {
        "test_interp_php.py": "",
    },
    "pip": {
        "test_split.py": "test_split_wheel_is_installed_and_gdb_finds_its_symbols",
    },
    "postgresql": {
        "test_away.py": "test_a_database_that_is_down_is_no_absence",
        "test_fleet.py": "",
        "test_fleet_packaging.py": "test_requests_go_on_while_nodes_behind_the_balancer_end_and_come_back",
        "test_monitoring.py": "test_every_metric_and_label_is_one_of_a_real_server",
        "test_postgres.py":
            "test_a_backup_of_the_index_is_the_databases "
            "test_a_key_is_read_once_a_second_and_is_refused_soon_after_it_was_revoked "
            "test_an_acknowledged_upload_survives_kill_and_power_cut "
            "test_both_databases_have_the_same_tables_columns_and_indexes "
            "test_modules_that_are_open_answer_while_the_database_is_away test_the_suite_of_every_index_passes "
            "test_what_is_pushed_is_found_searched_and_deleted",
        "test_postgres_backup.py": "",
        "test_postgres_failover.py": "",
        "test_readiness.py": "test_a_database_that_is_away_takes_no_node_out test_nodes_with_full_disks",
        "test_round_trips.py": "",
        "test_store_migrate.py":
            "test_a_migration_that_is_killed_again_and_again_goes_on "
            "test_a_store_goes_to_postgresql_and_back_with_every_row test_the_files_go_to_a_bucket_and_back "
            "test_what_the_old_store_has_lost_is_reported_and_not_named_by_the_new_one",
        "test_upgrade.py":
            "test_a_node_goes_on_and_starts_again_after_a_later_version_has_added_to_the_index "
            "test_a_node_whose_version_is_excluded_is_not_ready_and_does_not_start "
            "test_a_second_process_with_the_name_of_a_node_is_noticed "
            "test_a_version_that_excludes_a_running_node_waits_until_it_has_ended "
            "test_an_index_of_before_the_base_is_refused "
            "test_versions_are_exchanged_node_by_node_under_load",
    },
    "prometheus": {
        "test_monitoring.py":
            "test_promtool_takes_the_expressions_of_the_dashboard "
            "test_promtool_takes_the_rules_and_each_alert_fires_where_it_should",
    },
    "radosgw": {
        "test_readiness.py": "test_a_node_with_a_wrong_clock_and_a_bucket_that_is_away",
        "test_away.py":
            "test_a_bucket_that_is_away_is_no_absence test_a_deadline_is_no_absence "
            "test_a_full_disk_is_neither_damage_nor_absence",
        "test_s3.py": "",
        "test_s3_parts.py": "",
        "test_s3_presigned.py": "",
    },
    "rpm": {
        "test_crawl_indexes.py":
            "test_a_changed_primary_is_refused test_a_list_of_another_machine_names_no_folder_of_this_one "
            "test_a_list_of_mirrors_is_not_trusted_for_more_than_its_mirrors "
            "test_a_malformed_repomd_is_refused test_a_repository_of_rpm_is_counted "
            "test_a_signature_of_repomd_is_checked test_names_versions_and_sources_of_rpm_reach_the_server "
            "test_repositories_of_opensuse_are_where_its_releases_have_them "
            "test_the_list_of_mirrors_of_amazon_linux_leads_to_its_packages "
            "test_when_no_mirror_of_a_list_answers_the_first_one_is_named",
        "test_crawl_sources.py": "",
        "test_crawl_work.py": "test_a_package_of_each_form_gives_its_names",
        "test_push_archives.py": "test_a_program_in_an_archive_is_pushed_as_it_is_on_its_own",
    },
    "rust": {
        "test_ci_recipes.py": "test_cargo",
        "test_split.py": "test_rust_wheel_is_installed_and_gdb_finds_its_symbols",
    },
    "samply": {
        "test_flame.py": "test_samply_finds_the_same_names_by_what_the_firefox_profiler_gets",
    },
    "speedscope": {
        "test_kept_profiles.py": "test_speedscope_is_served_from_here_and_reaches_nothing_of_this_server",
    },
    "systemd": {
        "test_agent_operation.py": "test_the_unit_is_what_systemd_takes_and_calls_confined",
        "test_operation.py": "test_systemd_starts_it_when_somebody_comes test_the_units_are_what_systemd_takes_and_calls_confined",
    },
    "valgrind": {
        "test_crash_engine.py": "test_valgrinds_rules_hold_everywhere",
        "test_crash_reports.py": "test_a_stripped_program_under_valgrind_gets_the_names_that_valgrind_has_of_it",
        "test_terminal.py": "test_an_extraction_shows_its_progress_on_a_terminal",
    },
    "time": {
        "test_agent_far.py": "",
        "test_agent_jit.py": "test_a_jitdump_names_each_sample_by_its_time",
        "test_agent_operation.py":
            "test_a_kill_at_any_time_leaves_a_state_that_can_be_read "
            "test_symbols_wait_on_disk_while_the_server_is_away",
        "test_agent_share.py":
            "test_a_host_at_rest_costs_less_than_a_thousandth_of_a_core "
            "test_programs_that_live_a_second_are_seen_in_containers_too",
        "test_backup.py": "test_a_backup_that_is_killed_leaves_the_one_before",
        "test_cli_store.py": "test_repair_and_sweep_that_are_killed_leave_a_store_that_is_right",
        "test_crash_reports.py": "test_text_of_any_size_is_passed_on_in_bounded_memory",
        "test_crawl_jobs.py": "test_a_hundred_thousand_packages_take_bounded_time_and_memory",
        "test_disk.py": "test_a_full_disk_is_mended_by_a_delete",
        "test_elf_uploads.py": "test_a_thousand_damaged_files_cost_the_server_nothing",
        "test_kept_profiles.py": "test_old_profiles_go_and_what_is_kept_has_a_size",
        "test_kill.py": "test_nothing_acknowledged_is_lost_and_nothing_else_is_visible",
        "test_library.py": "test_exactly_the_library_is_installed test_the_example_runs_with_the_static_library",
        "test_memory.py": "test_a_million_symbols_stay_under_the_limit_or_are_refused_by_it",
        "test_otlp_soak.py": "test_a_soak_of_messages_loses_none",
        "test_package_upstream.py": "test_a_bomb_is_left",
        "test_packed.py": "test_damage_and_bombs_are_reported",
        "test_power_cut.py": "test_after_each_call_as_the_last_one_all_that_was_acknowledged_is_whole",
        "test_push.py": "test_a_server_is_not_queried_before_its_retry_after test_an_upload_that_is_busy_is_waited_for",
        "test_push_archives.py": "test_a_bomb_ends_at_its_ratio",
        "test_server.py": "test_many_idle_connections_leave_descriptors_for_the_work",
        "test_slow_clients.py": "test_bodies_that_crawl_are_cut_and_their_bytes_kept",
        "test_upstreams.py": "test_two_servers_that_name_each_other_do_not_loop",
    },
}
BEYOND = {f"{file}::{name}" if name else file
          for files in NEEDS.values() for file, names in files.items() for name in names.split() or [""]}


def left_out(file, function):
    """True if `./dev test` leaves this test out."""
    return os.environ.get("UNHEX_TESTS") == "bare" and (file in BEYOND or f"{file}::{function}" in BEYOND)
