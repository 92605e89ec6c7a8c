//! fio's options without effect here: those accepted with a notice, those refused and why.
//!
//! An option about the machine that fio would run on is accepted. An option that changes the
//! requests but is not implemented is refused, so that every job runs as its file says.

/// Options accepted with a notice: about a real machine, its files, memory, processors, engines,
/// logs, the contents of buffers, or how fio counts.
#[rustfmt::skip]
pub const IGNORED: &[&str] = &[
    // files
    "directory", "filename_format", "unique_filename", "lockfile", "opendir", "nrfiles",
    "nr_files", "openfiles", "file_service_type", "fallocate", "fadvise_hint", "file_append",
    "create_serialize", "create_fsync", "create_on_open", "allow_file_create",
    "allow_mounted_write", "pre_read", "unlink", "unlink_each_loop", "overwrite", "invalidate",
    "fill_device", "fill_fs", "end_syncfs",
    // engines
    "ioengine", "direct", "buffered", "atomic", "thread", "iodepth_batch", "iodepth_batch_submit",
    "iodepth_batch_complete", "iodepth_batch_complete_min", "iodepth_batch_complete_max",
    "iodepth_low", "io_submit_mode", "serialize_overlap", "userspace_reap", "hipri",
    "hipri_percentage", "registerfiles", "fixedbufs", "nonvectored", "force_async", "sqthread_poll",
    "sqthread_poll_cpu", "nowait", "uncached", "cmd_type", "readfua", "libaio_vectored",
    "cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_bssplit", "cmdprio_hint",
    "write_barrier", "sync_file_range", "xnvme_async", "xnvme_sync", "uri", "clustername",
    "rbdname", "pool", "clientname", "busy_poll",
    // engines of one system, network or library
    "apptag", "apptag_mask", "arguments", "bindname", "brick", "cdb_len", "chunk_size", "conf",
    "cont", "cpuchunks", "cpuload", "cpumode", "cuda_io", "deac", "donorname", "dummy",
    "exit_on_io_done", "gpu_dev_ids", "grace_time", "hdfs_use_direct", "hdfsdirectory", "hostname",
    "http_host", "http_mode", "http_object_mode", "http_pass", "http_s3_key", "http_s3_keyid",
    "http_s3_region", "http_s3_security_token", "http_s3_sse_customer_algorithm",
    "http_s3_sse_customer_key", "http_s3_storage_class", "http_swift_auth_token", "http_user",
    "http_verbose", "https", "initiator", "inplace", "interface", "libblkio_driver",
    "libblkio_force_enable_completion_eventfd", "libblkio_num_entries", "libblkio_path",
    "libblkio_pre_connect_props", "libblkio_pre_start_props", "libblkio_queue_size",
    "libblkio_vectored", "libblkio_wait_mode", "libblkio_write_zeroes_on_trim", "listen",
    "md_per_io_size", "mss", "namenode", "nfs_url", "no_completion_thread", "nodelay",
    "object_class", "pi_act", "pi_chk", "pingpong", "port", "program", "proto", "protocol",
    "rbd_encryption_format", "rbd_encryption_passphrase", "rocm_io", "single-instance",
    "single_instance", "skip_bad", "stat_type", "std_redirect", "svcl", "thp",
    "touch_objects", "ttl", "verb", "verify_bytchk", "verify_mode", "volume", "window_size",
    "xnvme_admin", "xnvme_be", "xnvme_dev_nsid", "xnvme_dev_subnqn", "xnvme_iovec", "xnvme_mem",
    "spdk_conf", "spdk_json_conf", "spdk_mem", "spdk_single_seg", "spdk_rpc_listen_addr",
    // memory and contents of buffers
    "mem", "iomem", "mem_align", "iomem_align", "hugepage-size", "lockmem", "zero_buffers",
    "refill_buffers", "scramble_buffers", "buffer_pattern", "buffer_compress_percentage",
    "buffer_compress_chunk", "dedupe_percentage", "dedupe_mode",
    "dedupe_working_set_percentage", "dedupe_global",
    // processors, priorities and the system
    "cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "nice",
    "priohint", "cgroup", "cgroup_nodelete", "cgroup_weight", "uid", "gid",
    "ioscheduler", "exec_prerun", "exec_postrun", "clocksource", "gtod_reduce", "gtod_cpu",
    // verification: reads have no contents to compare
    "verify", "do_verify", "verify_interval", "verify_offset", "verify_pattern",
    "verify_pattern_interval", "verify_fatal", "verify_dump", "verify_async", "verify_async_cpus",
    "verify_backlog", "verify_backlog_batch", "verify_state_load", "verify_state_save",
    "verify_header_seed", "verify_write_sequence", "experimental_verify", "trim_percentage",
    "trim_verify_zero", "trim_backlog", "trim_backlog_batch",
    // reports and logs
    "group_reporting", "new_group", "unified_rw_reporting", "per_job_logs", "stats",
    "write_iolog", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log",
    "log_entries", "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_max_value",
    "log_window_value", "log_offset", "log_prio", "log_issue_time", "log_compression",
    "log_compression_cpus", "log_store_compressed", "log_unix_epoch", "log_alternate_epoch",
    "log_alternate_epoch_clock_id", "bwavgtime", "iopsavgtime", "block_error_percentiles",
    "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list",
    "significant_figures", "disk_util", "disable_lat", "disable_clat", "disable_slat",
    "disable_bw", "disable_bw_measurement", "unit_base",
    // conditions that end a real job early
    "exitall", "exit_what", "exitall_on_error", "continue_on_error", "ignore_error", "error_dump",
    "max_latency", "rate_min", "ratemin", "rate_iops_min", "rate_cycle", "ratecycle",
    // details of fio without a counterpart here
    "random_generator", "softrandommap", "thinktime_spin", "thinktime_blocks_type",
    "rate_ignore_thinktime", "read_iolog_chunked", "replay_redirect",
    "comm", "filetype", "gpu_dev_id", "job_start_clock_id", "rwmixcycle", "verify_policy",
    "verifysort", "verifysort_nr",
];

/// Unsupported options and their topic: without them the requests would differ.
#[rustfmt::skip]
pub const REFUSED: &[(&str, &str)] = &[
    ("zonerange", "zones of a file; use random_distribution=zoned_abs"),
    ("zoneskip", "zones of a file; use rw=read:BYTES for holes"),
    ("read_beyond_wp", "zoned drives"),
    ("ignore_zone_limits", "zoned drives"),
    ("wait_for", "waiting for one job; stonewall waits for all jobs before it"),
    ("flow", "flow control between jobs"),
    ("flow_id", "flow control between jobs"),
    ("flow_sleep", "flow control between jobs"),
    ("latency_target", "search for a queue depth; sweep iodepth instead"),
    ("latency_window", "search for a queue depth; sweep iodepth instead"),
    ("latency_percentile", "search for a queue depth; sweep iodepth instead"),
    ("latency_run", "search for a queue depth; sweep iodepth instead"),
    ("thinktime_iotime", "pauses by time; thinktime_blocks counts requests"),
    ("bs_is_seq_rand", "block sizes by kind of access"),
    ("replay_scale", "changed addresses of a trace"),
    ("replay_align", "changed addresses of a trace"),
    ("replay_skip", "traces with requests left out"),
    ("merge_blktrace_file", "merged traces"),
    ("merge_blktrace_scalars", "merged traces"),
    ("merge_blktrace_iters", "merged traces"),
    ("verify_only", "jobs that only verify earlier writes"),
    ("create_only", "jobs that send no requests"),
    ("profile", "profiles"),
    ("num_range", "trims of several ranges"),
    ("sprandom", "preconditioning by a job; use --precondition"),
    ("flow_watermark", "flow control between jobs"),
    ("percentage_sequential", "an option that fio has dropped; use percentage_random"),
    ("ramp_size", "a ramp by bytes; use ramp_time"),
    ("random_sequence_stride", "a distribution by a given sequence"),
    ("recover_zbd_write_error", "writes that go on after an error"),
    ("spr_cs", "preconditioning by a job; use --precondition"),
    ("spr_num_regions", "preconditioning by a job; use --precondition"),
    ("spr_op", "preconditioning by a job; use --precondition"),
    ("thinkcycles", "pauses in cycles of a processor; use thinktime"),
    ("write_mode", "other commands than writes"),
    ("read_mode", "other commands than reads"),
    ("sg_write_mode", "other commands than writes"),
    ("stream_id", "streams of SCSI; use write_hint"),
    ("dp_scheme", "handles by address; use a job with offset, size and plids for each part"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once() {
        let names = || IGNORED.iter().copied().chain(REFUSED.iter().map(|&(name, _)| name));
        for (index, name) in names().enumerate() {
            assert!(names().take(index).all(|other| other != name), "{name}");
        }
    }
}
