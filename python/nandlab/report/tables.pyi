"""Tables of the report, made by `python tools/regen.py report_view`: do not edit."""

from typing import Any

from nandlab.report.view import Table

class About(Table):
    """Configuration of a run, the report's `nandlab`."""

    version: str
    """Version of the engine."""
    seed: int
    """Seed of every random stream."""
    config_hash: str
    """FNV-1a hash, 64 bits, of `config` as compact JSON: names a configuration, not a file."""
    config: dict[str, Any]
    """Tables of the drive with every parameter filled in; paths as in `--set`. `ftl.own` tells an
    FTL in Python from others: FTLs.
    """
    cite: list[str]
    """Keys of `params/CITATIONS.bib` for drive, chip, host and chosen family members."""
    capacity_bytes: int
    """Bytes that the host sees."""
    notices: list[str]
    """Notices of the run: input without effect, fast pages or copies on the chip that nothing used,
    an over-provisioning above 1, and rates of jobs that were not reached.
    """
    trace: Summary | None
    """Summary of the trace as by `nandlab trace info`, without the footprint; `null` for fio jobs.
    Times and order are those of the replay (`time`, `time_scale`), lines and `non_monotonic` those
    of the file; with `nandlab trace info` all are the file's.
    """
    drive: str
    """Name of the drive."""
    run: Workload
    """Workload of the run, and the reader's options for traces."""
    summary: str
    """One line about the drive as it was built: that of its file, or of its parameters where some
    were changed.
    """

class Blame(Table):
    """Waits of requests by operation and percentile, the report's `blame`."""

    flush: list[Waits]
    """Waits of flushes, a row for each percentile."""
    read: list[Waits]
    """Waits of reads, a row for each percentile."""
    trim: list[Waits]
    """Waits of trims, a row for each percentile."""
    write: list[Waits]
    """Waits of writes, a row for each percentile."""

class BufferCounts(Table):
    """Write buffer of a run, the report's `buffer`."""

    read_hits: int
    """Units read from the buffer."""
    coalesced: int
    """Units rewritten in the buffer before they were programmed; with `buffer.coalesces = false`
    the older data are padding in `ftl`.
    """
    stalls: int
    """Writes that waited for room in the buffer."""
    fills: int
    """Units read to complete a partly written one."""

class ByOp(Table):
    """Requests and bytes by operation."""

    read: OpSummary
    """Reads of the trace."""
    write: OpSummary
    """Writes of the trace."""
    trim: OpSummary
    """Trims of the trace."""
    flush: OpSummary
    """Flushes of the trace."""
    zones: OpSummary
    """Appends and commands on zones, in recordings of drives that have them."""

class Cache(Table):
    """Cache of blocks in single-level mode: its work, and its room at the end."""

    host_units: int
    """Units of the host that went into the cache."""
    folded_units: int
    """Units folded out of the cache; they are among `gc_copies`."""
    erased_blocks: int
    """Blocks of the cache that were erased; they are among `gc_runs`."""
    room_bytes: int
    """Bytes that the cache may hold at the end."""
    used_bytes: int
    """Bytes of its blocks that are written, open or being folded at the end."""

class Channels(Table):
    """Busy shares of the channels, the report's `channels`."""

    busy_fraction_mean: float
    """Share of the time that data or command cycles are on the bus, in the mean of the channels."""
    busy_fraction: list[float]
    """Share of the time that data or command cycles are on the bus, of each channel."""

class Checks(Table):
    """Checks of a run, the report's `checks`."""

    little_law_error: float | None
    """Relative difference between the mean depth of a closed loop (sum of latencies / time) and its
    `iodepth`, while the job has more requests; the largest of all jobs. The share of the time that
    `host.submit_us` keeps the job's thread busy may be missing. `null` where no job has to keep a
    depth: traces at their times, rates, pauses, `ramp_time`, a run cut short.
    """
    busy_idle_error: float | None
    """Largest difference between the dies' time in reads, programs, erases and what as many
    operations take (exact where each has one time; where it depends on page type, wear or planes
    joined, between the shortest and the longest; one operation a die may be cut short by the end
    and by each power cut), and what decoders, encoders, cores, the link or a channel were busy for
    longer than the run, relative to it. `null` where no time passed. That busy and idle time make
    up the run's holds by the way they are booked, and is not looked at.
    """
    blame_error_ns: int | None
    """Largest difference between a latency and the sum of its causes: 0; `null` without
    `--explain`.
    """
    conservation: Conservation
    """Whether nothing was lost, and the accounts behind that."""

class CodeCounts(Table):
    """Counts of codewords, of all chips or of a kind."""

    codewords: int
    """Codewords read and decoded; further attempts do not count here."""
    hard_failures: int
    """Codewords among these that failed at the first attempt."""
    further_decodes: int
    """Codewords decoded again after a retry or a soft read: those of the page that had failed."""
    uncorrectable: int
    """Uncorrectable page reads, including those of garbage collection."""
    raw_bit_errors: int
    """Wrong bits of first reads; 0 with `chip.array.name = "ideal"` or `ecc.model = "ideal"`, which
    count none.
    """
    iterations: int
    """Iterations of all decodes; 0 for models without iterations."""
    encoded: int
    """Codewords encoded, padding included."""

class CodeStages(Table):
    """Codes by age: blocks that changed to stronger ones, and the blocks of each code."""

    changed_blocks: int
    """Blocks that changed to a stronger code."""
    parity_units: int
    """Unit slots that parity takes from data; they are among `padding_units`."""
    blocks: list[int]
    """Good blocks of each code at the end: that of `[ecc]`, then those of `ecc.stages` in order."""

class Codewords(Table):
    """Codewords of a drive that really encodes and decodes."""

    encoded: int
    """Codewords that were encoded."""
    decoded: int
    """Codewords that were decoded."""
    miscorrected: int
    """Codewords that were taken for corrected, and are others than were written."""

class Commands(Table):
    """Commands of a namespace, or of a queue, in the report."""

    read: CommandsOfKind
    """Read, Compare and Verify."""
    write: CommandsOfKind
    """Write, Write Zeroes, Write Uncorrectable and Copy."""
    other: CommandsOfKind
    """Flush, Dataset Management and I/O Management Send."""

class CommandsOfKind(Table):
    """Completed commands of one kind in the report."""

    bytes: int
    """Bytes that the commands named; 0 for `other`."""
    latency_us: LatencyUs
    """Latencies in simulated time, without the transport."""

class Conservation(Table):
    """Accounts of requests and units, and whether they agree."""

    ok: bool
    """Whether the counts of requests and units and those of the FTL agree."""
    finished: bool
    """Whether the run was not interrupted."""
    expected: int | None
    """Requests of the jobs; `null` if unknown, limited by a `runtime`, or after a refused write."""
    issued: int
    """Requests that the drive accepted."""
    completed: int
    """Requests that were completed."""
    lost: int
    """Requests that the drive had accepted and not answered when its power was cut; 0 without a
    cut.
    """
    counts_agree: bool
    """Whether the FTL's host, moved and padding units are the slots of all pages that the flash has
    programmed or is being sent, its reclaimed and retired blocks those that were erased.
    """
    mapped_units: int
    """Units that hold the newest data of a logical unit, or a map page in use."""
    free_units: int
    """Units that can be programmed without an erase."""
    invalid_units: int
    """Units that hold old data or padding, or are being programmed."""
    bad_units: int
    """Units of bad blocks."""
    physical_units: int
    """Units of the drive in all."""

class Cost(Table):
    """Price of the flash, the report's `cost`."""

    flash_bytes: int
    """Bytes of flash as sold: the data pages of all blocks."""
    flash_usd: float
    """Price of the flash in dollars; controller, DRAM and assembly are not in it."""
    usd_per_gb: float
    """Price in dollars for each 10^9 bytes that the host sees: what over-provisioning costs."""

class Cut(Table):
    """Losses of a power cut."""

    requests: int
    """Requests that were taken and not answered."""
    at_s: float
    """Simulated time of the cut."""
    buffered_units: int
    """Units of acknowledged data that were in the buffer alone."""
    torn_programs: int
    """Programs that were broken off."""
    torn_erases: int
    """Erases that were broken off."""
    unprotected_units: int
    """Units whose newest data were on failed dies, in stripes that the cut has left incomplete: a
    start-up finds older data of them, or none.
    """
    held_up_s: float
    """Time for which capacitors have kept the drive at work."""

class DenseCounts(Table):
    """Data on dense chips beside fast ones."""

    frozen_units: int
    """Units moved to dense chips from fast ones by collection; they are among `gc_copies`."""
    modified_sets: int
    """Block sets rewritten because the host has overwritten data in them."""

class Device(Table):
    """Clients of a served drive, the report's `device`."""

    clients: int
    """Clients that have connected to the drive."""
    dropped_clients: int
    """Clients that were dropped or turned away."""
    requests: dict[str, int]
    """Requests of clients by command; one of them may be several requests of the drive."""
    refused_requests: int
    """Requests that were refused by the protocol."""
    failed_requests: int
    """Requests that have failed in the drive."""
    lost_bytes: int
    """Bytes of reads that could not be corrected."""
    namespaces: dict[str, Commands] | None
    """Commands of NVMe hosts by the identifier of their namespace, over the whole time; `null` for
    a block device.
    """
    queues: dict[str, Commands] | None
    """Commands of NVMe hosts by the number of their queue, those of all hosts together; `null` for
    a block device.
    """
    codewords: Codewords | None
    """Codewords of a drive with `exact` integrity; else `null`."""
    late_us: LateUs | None
    """Lateness of answers against their time; `null` without a clock."""
    late_answers: int
    """Answers that were more than 50 us late: there the host, its threads or the socket were the
    limit, and not the drive.
    """
    cuts: list[DeviceCut]
    """Power cuts, the oldest first."""
    exchanges: list[Exchange]
    """Exchanges of dies, in order; the last one is the report's `exchange`."""
    snapshots: list[Snapshot]
    """Moments at which the drive was saved."""
    clock: str
    """Clock of the answers: `real`, `fast` or `scaled=K`."""
    integrity: str
    """Integrity of the data: `model` or `exact`."""
    uri: str
    """Address that clients connected to."""

class DeviceCut(Table):
    """Power cut of a served drive and the start-up after it."""

    unanswered_requests: int
    """Requests of clients that were not answered."""
    at_s: float
    """Simulated time of the cut."""
    buffered_units: int
    """Units of acknowledged data that were in the buffer alone."""
    torn_programs: int
    """Programs that were broken off."""
    torn_erases: int
    """Erases that were broken off."""
    unprotected_units: int
    """Units whose newest data were on failed dies, in stripes that the cut has left incomplete: a
    start-up finds older data of them, or none.
    """
    held_up_s: float
    """Time for which capacitors have kept the drive at work."""
    ready_after_s: float | None
    """Time from power to ready; `null` where the power did not come back."""
    reverted_units: int | None
    """Units whose newest version is lost, and of which an older one is left; `null` where the power
    did not come back.
    """
    forgotten_units: int | None
    """Units among these that the drive had promised to keep: they read as zeros; `null` where the
    power did not come back.
    """

class DeviceSummary(Table):
    """One address space of a trace."""

    name: str
    """Name of the device in the trace."""
    requests: int
    """Requests to the device."""
    extent_bytes: int
    """One past the last byte that a request names."""

class Dies(Table):
    """Shares of all dies' time by their work, the report's `dies`; they add up to 1."""

    read: float
    """Share of the dies' time in array reads."""
    program: float
    """Share of the dies' time in programs."""
    erase: float
    """Share of the dies' time in erases."""
    wait: float
    """Share of the dies' time in holding or waiting for data, command cycles, suspending."""
    idle: float
    """Share of the dies' time without work."""

class Direction(Table):
    """Direction of a job with fio's keys."""

    total_ios: int
    """Requests that were completed."""
    io_bytes: int
    """Bytes of the requests."""
    io_kbytes: int
    """KiB of the requests."""
    iops: float
    """Requests of the direction a second."""
    bw_bytes: int
    """Bandwidth in bytes a second."""
    bw: int
    """Bandwidth in KiB a second."""
    runtime: int
    """Milliseconds that the rates are over."""
    lat_ns: LatencyNs
    """Latencies of the requests."""
    clat_ns: LatencyNs
    """Latencies from submission to completion: those of `lat_ns`, as submission takes no part."""
    slat_ns: LatencyNs
    """Latencies of submission: all 0."""
    short_ios: int
    """Always 0, as no request is cut short."""
    drop_ios: int
    """Always 0, as no request is dropped."""
    bw_min: int
    """Bandwidth of the only sample, in KiB a second."""
    bw_max: int
    """Bandwidth of the only sample, in KiB a second."""
    bw_agg: float
    """Always 100: the share of the job in its own bandwidth."""
    bw_mean: float
    """Bandwidth of the only sample, in KiB a second."""
    bw_dev: float
    """Always 0, as there is one sample."""
    bw_samples: int
    """Always 1, the number of samples."""
    iops_min: int
    """Requests a second of the only sample."""
    iops_max: int
    """Requests a second of the only sample."""
    iops_mean: float
    """Requests a second of the only sample."""
    iops_stddev: float
    """Always 0, as there is one sample."""
    iops_samples: int
    """Always 1, the number of samples."""

class DriveEnergy(Table):
    """Energy of a drive with `[power]`, the report's `energy`."""

    total_uj: float
    """Energy of the whole drive."""
    power_w: float
    """Mean power of the whole drive."""
    controller_uj: float
    """Energy of the controller while the drive was awake: its power, commands, and bytes on the
    link and on flash buses.
    """
    dram_uj: float
    """Energy of the DRAM while the drive was awake."""
    link_uj: float
    """Energy of the link while the drive was awake."""
    asleep_uj: float
    """Energy of controller, DRAM and link in power states."""
    flash_uj: float
    """Energy of all flash, as in `nand`."""
    decoders_uj: float
    """Energy of the decoders, as in `ecc`."""
    awake_s: float
    """Time in which the drive was in no power state."""
    states: dict[str, StateUse]
    """Power states by their names; empty of a drive without any."""
    temperature: Temperature | None
    """Temperature of the drive; `null` without `power.thermal`."""
    peak_power_w: float | None
    """Highest power of the whole drive over 10 ms or a little more; `null` for a run that is
    shorter.
    """

class Ecc(Table):
    """Codewords of a run and their decoders, the report's `ecc`."""

    codewords: int
    """Codewords read and decoded; further attempts do not count here."""
    hard_failures: int
    """Codewords among these that failed at the first attempt."""
    further_decodes: int
    """Codewords decoded again after a retry or a soft read: those of the page that had failed."""
    uncorrectable: int
    """Uncorrectable page reads, including those of garbage collection."""
    raw_bit_errors: int
    """Wrong bits of first reads; 0 with `chip.array.name = "ideal"` or `ecc.model = "ideal"`, which
    count none.
    """
    iterations: int
    """Iterations of all decodes; 0 for models without iterations."""
    encoded: int
    """Codewords encoded, padding included."""
    retries: int
    """Pages read again by hard decision, with their references moved."""
    soft_reads: list[int]
    """Soft reads of pages: first ones (2 extra references), second ones (4), and so on; empty where
    there were none.
    """
    lost_units: int
    """Units whose data are lost at the end of the run: garbage collection or a partial write could
    not read them, and they were not completely rewritten or trimmed since. Reads of them fail.
    """
    energy_uj: float
    """Energy of the iterations: `ecc.iteration_pj_per_bit` for each bit of a codeword."""
    decoders_busy_s: float
    """Time of all decoders together, up to the end of the run."""
    encoders_busy_s: float
    """Time of all encoders together, up to the end of the run."""
    decoders_busy_fraction: float
    """Busy share of the run, in the mean of the decoders."""
    encoders_busy_fraction: float
    """Busy share of the run, in the mean of the encoders."""

class EnduranceGroup(Table):
    """Bytes of the endurance group, the report's `endurance_group`."""

    handles: int
    """Reclaim unit handles: streams of the host that the FTL keeps apart (`ftl.host_streams`)."""
    reclaim_groups: int
    """Reclaim groups (`ftl.reclaim_groups`): parts of the dies that have the handles once each."""
    redirected_units: int
    """Units of the host that went to another reclaim group than it had named, as that was full of
    valid data.
    """
    host_bytes: int
    """Bytes that the host has written in this run (HBMW)."""
    media_bytes: int
    """Bytes programmed for host data, moves, padding and metadata (MBMW)."""
    erased_bytes: int
    """Bytes of the blocks erased (MBE)."""
    write_amplification: float
    """Quotient `media_bytes` / `host_bytes`; 0 where nothing was written."""
    by_handle: list[OfHandle]
    """Work for each handle, from handle 0 on, of the first reclaim group and then of the next;
    empty of a drive without handles. With `ftl.isolation = "initial"` moved data belong to no
    handle.
    """

class EnergyUse(Table):
    """Energy used in a run, in microjoules."""

    read_uj: float
    """Energy of array reads."""
    program_uj: float
    """Energy of array programs."""
    erase_uj: float
    """Energy of block erases."""
    bus_uj: float
    """Energy of transfers on the buses."""
    standby_uj: float
    """Standby energy of all dies."""

class Exchange(Table):
    """Exchange of a die: its progress, and the service of the host during it."""

    die: int
    """Number of the die."""
    way: str
    """Way of the exchange: `in_service` or `suspended`."""
    pe_cycles: int
    """Program/erase cycles of the new chip."""
    planned_s: float
    """Time at which the exchange was to begin."""
    asked_s: float | None
    """Time at which the exchange began; `null` where the run ended before."""
    emptied_s: float | None
    """Time at which the die held no data any more; `null` where the run ended before."""
    replaced_s: float | None
    """Time at which the die had its new chip; `null` where the run ended before."""
    moved_units: int
    """Units that were moved off the die."""
    lost_units: int
    """Units that were lost because they could not be read."""
    longest_without_service_ms: float
    """Longest time in which requests waited and none was completed, up to the first completion
    after the end of the exchange.
    """
    longest_latency_ms: float
    """Longest latency of a request that was under way meanwhile."""
    dead_time_s: float
    """Time in which the drive took no requests: 0 in service."""

class FailedDie(Table):
    """Die that has failed in a run."""

    die: int
    """Number of the die."""
    failed_s: float
    """Time of its failure."""
    rebuilt_s: float | None
    """Time from which on the other dies had the newest data of all units; `null` where the run
    ended before.
    """

class Figure(Table):
    """Figure over the replicates of a run."""

    mean: float
    """Mean of the replicates."""
    half_width: float | None
    """Half of the width of the 95 % interval of the mean, by Student's t; `null` of one replicate,
    and where replicates are alike in all figures, as nothing in the run depends on the seed.
    """
    each: list[float]
    """Value in each replicate."""

class Flushes(Table):
    """Flushes of a job with fio's keys."""

    total_ios: int
    """Flushes that were completed."""
    lat_ns: LatencyNs
    """Latencies of the flushes."""

class Front(Table):
    """Busy shares of the controller's cores, of the link and of the DRAM, the report's `front`."""

    cores_busy_fraction: float
    """Busy share of the controller's cores together."""
    link_in_busy_fraction: float
    """Busy share of the link with data of writes."""
    link_out_busy_fraction: float
    """Busy share of the link with data of reads."""
    dram_busy_fraction: float
    """Busy share of the controller's DRAM; 0 where its bandwidth is unlimited
    (`controller.dram_mb_s`).
    """

class Ftl(Table):
    """Work of the FTL, the report's `ftl`."""

    write_amplification: float
    """Units programmed / units written by the host; a write of half a unit counts half. Data that
    are still in the buffer, or were rewritten there, have not been programmed.
    """
    write_amplification_flash: float
    """Units programmed / whole units that left the buffer: data rewritten in the buffer or still
    there are not in the denominator; with `buffer.coalesces = false` they are padding in the
    numerator.
    """
    host_units: int
    """Units programmed for the host."""
    gc_copies: int
    """Units moved by garbage collection and other internal jobs, whatever the reason."""
    levelled_units: int
    """Units among `gc_copies` that were moved for static wear levelling."""
    padding_units: int
    """Unit slots programmed without data; the third page of each coded group of `wom` counts as
    that.
    """
    gc_runs: int
    """Blocks reclaimed: erased for further use. Retired ones are not among them."""
    levelled_blocks: int
    """Blocks among `gc_runs` that were reclaimed for static wear levelling."""
    read_reclaims: int
    """Blocks chosen for read reclaim, after many reads or many retry rounds (`gc.reclaim_reads`,
    `gc.reclaim_rounds`). Refresh makes the same moves, and the report counts it apart.
    """
    retired_blocks: int
    """Blocks retired after too many uncorrectable pages, or after a failed program or erase (under
    load some time later, after the second failure).
    """
    merges: Merges
    """Merges of log blocks by kind; of `superblock`: see its chapter."""
    map: MapCounts
    """Accesses to a map on flash, or to a learned map; all 0 where the map is in memory."""
    read_only_at_s: float | None
    """Time at which a block failed in a plane without spare blocks, or needed a code that its plane
    had no space for: the drive refused every later write, which ended its job as an error does in
    fio (failed reads do not). Of a drive with sets of dies the time of the last one. `null` if this
    did not happen.
    """
    trimmed_units: int
    """Units trimmed that held data, on the flash or in the buffer."""
    cache: Cache | None
    """Cache of blocks in single-level mode (`slc_cache`); `null` elsewhere."""
    dense: DenseCounts | None
    """Data on dense chips (`frozen` on several kinds of chips); `null` elsewhere."""
    code_stages: CodeStages | None
    """Codes by age (`ecc.stages`); `null` elsewhere."""
    parity: Parity | None
    """Parity over dies (`parity.pages`); `null` elsewhere."""
    ram_bytes: RamBytes
    """RAM that the drive's firmware needs, in all and by use: `map`, `blocks`, `map_cache`,
    `map_directory`, `map_segments`, `block_names`, `block_map`, `log_maps`, `superblock_maps`,
    `superblocks`, `zones`, `zone_blocks`, ...
    """
    unit_bytes: int
    """Bytes of a mapping unit."""
    mapping_bytes_per_unit: float
    """Bytes of the FTL's tables for each logical unit."""

class Host(Table):
    """Requests of the host, the report's `host`."""

    requests_issued: int
    """Requests that the drive has taken."""
    requests_waited: int
    """Requests that the drive took later than they arrived: it had no room for them
    (`drive.queue_depth`), a limit of their job held them back, or its queue depth did. Where it is
    0, arbitration and priorities change nothing.
    """
    requests_completed: int
    """Requests that were completed."""
    requests_failed: int
    """Requests with uncorrectable data, and writes that a worn-out drive refused. Failed reads are
    included in other counts, latencies and rates; refused writes are not.
    """
    read_units: int
    """Mapping units that were read."""
    read_units_unwritten: int
    """Units among those read that were never written or were trimmed: they need no flash read.
    Above 1 % there is a notice.
    """
    urgent_writes: int
    """Writes that somebody waits for (`prio` of a job, `urgent` of a trace), those of ramp times
    included. With `ftl.fast_pages` and none there is a notice.
    """
    iops: float
    """Requests a second, all operations."""
    bandwidth_mb_s: float
    """Bandwidth of what was read and written."""
    latency_us: LatencyUs
    """Latencies of all operations together."""
    read: Operation
    """Reads of the host."""
    write: Operation
    """Writes of the host."""
    trim: Operation
    """Trims of the host."""
    flush: Operation
    """Flushes of the host."""
    mean_queue_depth: float
    """Mean number of requests in flight or in the host's queues, over the whole run."""
    longest_silence_ms: float
    """Longest time in which requests were in flight or in the host's queues and none was completed:
    a drive that serves nobody. Ramp times count; a pause without requests does not.
    """

class InWindows(Table):
    """Requests of the host that the drive took in windows of one kind, a part of `windows`."""

    read: Operation
    """Reads, as in `host`."""
    write: Operation
    """Writes, as in `host`."""

class Interarrival(Table):
    """The time between requests."""

    mean_ms: float
    """Mean time between requests, exact: the span over one less than the requests."""
    median_ms: float
    """Median of the times that are not negative, within 0.1 %."""
    cv: float
    """Coefficient of variation of these times: 1 for a Poisson process, more for bursts."""

class Job(Table):
    """Job with fio's keys."""

    jobname: str
    """Name of the job, as in fio."""
    groupid: int
    """Number of the group between stonewalls that the job is in."""
    error: int
    """Error number of the job: 5 (EIO) if a request failed, otherwise 0."""
    eta: int
    """Always 0, without meaning here."""
    elapsed: int
    """Seconds until the job's last request completed, rounded up."""
    read: Direction
    """Reads of the job."""
    write: Direction
    """Writes of the job."""
    trim: Direction
    """Trims of the job."""
    sync: Flushes
    """Flushes of the job."""
    job_runtime: int
    """Milliseconds from the job's measured start until its last request completed."""
    usr_cpu: float
    """Always 0, without meaning here."""
    sys_cpu: float
    """Always 0, without meaning here."""
    ctx: int
    """Always 0, without meaning here."""
    majf: int
    """Always 0, without meaning here."""
    minf: int
    """Always 0, without meaning here."""
    latency_ns: dict[str, float]
    """Percent of the job's requests up to each edge in nanoseconds, as fio's table."""
    latency_us: dict[str, float]
    """Percent of the job's requests up to each edge in microseconds, as fio's table."""
    latency_ms: dict[str, float]
    """Percent of the job's requests up to each edge in milliseconds, as fio's table."""

class Kind(Table):
    """Work of the dies of one kind of chips."""

    flash_bytes: int
    """Bytes of flash of the kind."""
    programs: int
    """Pages programmed on the kind."""
    erases: int
    """Blocks erased on the kind."""
    energy_uj: float
    """Energy of the kind's dies."""
    energy: EnergyUse
    """Energy of the kind's dies by operation."""
    pe_cycles: Wear
    """Program/erase cycles of the kind's good blocks at the end."""
    program_us: dict[str, float]
    """Mean time of a program command by page type."""
    ecc: CodeCounts
    """Codewords of the kind."""

class LateUs(Table):
    """Lateness of answers in microseconds."""

    mean: float
    """Mean lateness in microseconds."""
    p50: float
    """Median lateness in microseconds."""
    p99: float
    """99th percentile of the lateness in microseconds."""
    max: float
    """Greatest lateness in microseconds."""

class LatencyNs(Table):
    """Latencies in nanoseconds with fio's keys."""

    min: int
    """Shortest latency in nanoseconds."""
    max: int
    """Longest latency in nanoseconds."""
    mean: float
    """Mean latency in nanoseconds."""
    stddev: float
    """Standard deviation of the latencies."""
    N: int
    """Number of the latencies."""
    percentile: dict[str, int]
    """Latencies at fio's default percentiles, and at 99.999; `slat_ns` has none."""

class LatencyUs(Table):
    """Latencies of requests in microseconds."""

    count: int
    """Requests that the latencies are of."""
    mean: float
    """Mean latency in microseconds, exact."""
    min: float
    """Shortest latency in microseconds, exact."""
    p50: float
    """Median latency in microseconds: HDR histogram, within 0.1 %."""
    p90: float
    """90th percentile in microseconds: HDR histogram, within 0.1 %."""
    p99: float
    """99th percentile in microseconds: HDR histogram, within 0.1 %."""
    p99_9: float
    """99.9th percentile in microseconds: HDR histogram, within 0.1 %."""
    p99_99: float
    """99.99th percentile in microseconds: HDR histogram, within 0.1 %."""
    p99_999: float
    """99.999th percentile in microseconds: HDR histogram, within 0.1 %."""
    max: float
    """Longest latency in microseconds, exact."""

class MapCounts(Table):
    """Accesses to a map that may cost reads: on flash and cached in memory, or learned."""

    reads: int
    """Map pages read from flash."""
    writes: int
    """Map pages written, those that collection moves not counted; they are in
    `write_amplification`.
    """
    moves: int
    """Map pages that collection has moved; they are among `gc_copies`."""
    hits: int
    """Units whose entry was in memory when a request asked for it; with a learned map, units found
    at once.
    """
    misses: int
    """Units whose entry was not in memory when a request asked for it; with a learned map, units
    not found at once.
    """
    host_memory_hits: int
    """Units among `misses` whose entry came from the memory of the host (`ftl.host_memory_bytes`).
    """
    mispredictions: int
    """Pages of data read because the map expected a unit there, wrongly."""

class Merges(Table):
    """Merges of log blocks by kind: the log block becomes a data block or gives its data to one."""

    switch: int
    """Switch merges: the log block was written whole and in order, and becomes the data block."""
    partial: int
    """Partial merges: the log block was written in order up to some page, and gets the rest copied
    behind that.
    """
    full: int
    """Full merges: the data of log block and data block are copied to a new block."""

class Nand(Table):
    """Flash operations of a run, the report's `nand`."""

    reads: int
    """Pages sensed by array reads."""
    programs: int
    """Pages programmed, failed ones included."""
    erases: int
    """Blocks erased, failed ones included."""
    failed_programs: int
    """Pages among `programs` whose program failed (`chip.fault`)."""
    failed_erases: int
    """Blocks among `erases` whose erase failed (`chip.fault`)."""
    copybacks: int
    """Pages programmed from the page registers that they were read into (copyback)."""
    suspends: int
    """Suspends of programs and erases."""
    joined_reads: int
    """Reads that joined another on other planes."""
    refreshed_blocks: int
    """Blocks that were taken to be rewritten by refresh; see `refresh`."""
    patrol_reads: int
    """Patrol reads of pages; see `refresh`."""
    energy_uj: float
    """Energy of all flash."""
    energy: EnergyUse
    """Energy of all flash by operation."""
    pe_cycles: Wear
    """Program/erase cycles of the good blocks at the end."""
    reduced_programs: int | None
    """Pages programmed at reduced levels (`ftl.reduced_streams`); they are among `programs`. `null`
    of a drive without such streams.
    """
    reduced_share: float | None
    """Pages programmed at reduced levels, as a share of `programs`; `null` without either."""
    program_us: dict[str, float]
    """Mean time of a program command by page type (`page`; `lower`, `middle`, `upper`, `top`;
    `wordline` where programmed in one shot; `single_level` of blocks in that mode; with `reduced_`
    before them of blocks at reduced levels); multi-plane commands count once; with several kinds of
    chips that of the first.
    """
    kinds: dict[str, Kind] | None
    """Work of each kind of chips by its name (`chip`, and the names of `chips`), of a drive with
    several kinds; else `null`.
    """
    peak_power_w: float | None
    """Highest power of flash and decoders over 10 ms or a little more; `null` for a run that is
    shorter.
    """

class NvmSet(Table):
    """Set of dies with an FTL of its own, a row of the report's `sets`."""

    namespace: int | None
    """Number of the namespace that has the set to itself; `null` of the dies that others share."""
    ftl: str
    """Name of the set's FTL."""
    first_die: int
    """First die of the set; the others follow it. Die d is on channel d modulo `drive.channels`."""
    dies: int
    """Number of dies of the set."""
    bytes: int
    """Bytes of its logical units."""
    write_amplification: float
    """Units programmed / whole units that left the buffer for the set, as
    `ftl.write_amplification_flash` of the whole drive.
    """
    host_units: int
    """Units programmed for the host."""
    gc_copies: int
    """Units moved by garbage collection and other internal jobs, whatever the reason."""
    levelled_units: int
    """Units among `gc_copies` that were moved for static wear levelling."""
    padding_units: int
    """Unit slots programmed without data; the third page of each coded group of `wom` counts as
    that.
    """
    gc_runs: int
    """Blocks reclaimed: erased for further use. Retired ones are not among them."""
    levelled_blocks: int
    """Blocks among `gc_runs` that were reclaimed for static wear levelling."""
    read_reclaims: int
    """Blocks chosen for read reclaim, after many reads or many retry rounds (`gc.reclaim_reads`,
    `gc.reclaim_rounds`). Refresh makes the same moves, and the report counts it apart.
    """
    retired_blocks: int
    """Blocks retired after too many uncorrectable pages, or after a failed program or erase (under
    load some time later, after the second failure).
    """
    merges: Merges
    """Merges of log blocks by kind; of `superblock`: see its chapter."""
    map: MapCounts
    """Accesses to a map on flash, or to a learned map; all 0 where the map is in memory."""
    read_only_at_s: float | None
    """Time at which a block of the set failed without a spare one: the set refused every later
    write. `null` if this did not happen.
    """
    free_units: int
    """Units that can be programmed without an erase at the end."""
    bad_units: int
    """Units of bad blocks at the end."""
    pe_cycles: Wear
    """Program/erase cycles of the good blocks of the set at the end."""
    energy_uj: float
    """Energy of the set's dies; that of all sets is `nand.energy_uj`."""
    energy: EnergyUse
    """Energy of the set's dies by operation."""
    busy: Dies
    """Shares of the time of the set's dies, which add up to 1."""

class OfHandle(Table):
    """Work for the data of one placement handle, a row of `endurance_group.by_handle`."""

    host_units: int
    """Units programmed for writes of the host with this handle."""
    moved_units: int
    """Units that collection has moved out of blocks of the handle."""
    erased_blocks: int
    """Blocks of the handle that were erased."""
    blocks: int
    """Blocks that hold data of the handle at the end, valid or dead."""
    pe_cycles: Wear
    """Program/erase cycles of these blocks: fewest, mean and most; 0 without any."""
    write_amplification: float
    """Units programmed for the handle, moved ones included / units programmed for the host with it;
    0 where it wrote nothing.
    """

class OpSummary(Table):
    """Requests of one operation."""

    requests: int
    """Number of requests of the operation."""
    bytes: int
    """Bytes of all requests."""
    mean_bytes: float
    """Mean bytes of a request."""

class Operation(Table):
    """Requests of one operation."""

    requests: int
    """Requests of the operation."""
    bytes: int
    """Bytes that the requests asked for."""
    iops: float
    """Requests of the operation a second."""
    bandwidth_mb_s: float
    """Bandwidth of the operation; 0 where it moves no data."""
    latency_us: LatencyUs
    """Latencies of the operation."""

class Parity(Table):
    """Parity over dies (`parity.pages`), the report's `ftl.parity`."""

    units: int
    """Unit slots that hold the parity of a stripe; they are among `padding_units`."""
    held_pages: int
    """Pages of stripes that the controller has kept in memory, as their program failed, or the die
    that was to have them.
    """
    rebuilt_reads: int
    """Reads of pages that were rebuilt from the other pages of their stripe."""
    lost_reads: int
    """Reads of pages that could not be rebuilt either: more pages of the stripe are missing than
    are parity.
    """
    around_reads: int
    """Reads of the host that were rebuilt because their die was busy (`parity.read_around`); they
    are not among `rebuilt_reads`.
    """
    page_reads: int
    """Pages that were read to rebuild others."""
    failed_dies: list[FailedDie]
    """Dies that have failed, in the order of their failures."""

class Power(Table):
    """Recovery of a drive, the report's `power`."""

    summary_pages: int
    """Pages of summaries of blocks, programmed with the last page of a block."""
    trim_pages: int
    """Pages of the log that note trims."""
    opened_pages: int
    """Pages of the log that note opened blocks."""
    table_pages: int
    """Pages of the log with parts of tables (checkpoints), and with the dumps of zoned drives."""
    journal_pages: int
    """Pages of the log with the journal of the map."""
    backup_pages: int
    """Pages copied before a program of the same cells, which a cut could spoil."""
    log_erases: int
    """Blocks of the log and of the copies that were erased."""
    tables: int
    """Tables that were completed."""
    write_amplification: float
    """Write amplification as `ftl.write_amplification`, with these pages."""
    cut: Cut | None
    """Losses of the cut that `--cut-at` made; `null` without one."""
    start_up: Started | None
    """Start-up after the cut; `null` without one. The caller of the engine fills it in once the
    drive has started up.
    """

class RamBytes(Table):
    """RAM of the drive's firmware, in all and by table."""

    total: int
    """Bytes of all tables together."""

class ReadCache(Table):
    """Read cache of a run, the report's `read_cache`."""

    hits: int
    """Units of reads that came from the cache."""
    misses: int
    """Units of reads that came from flash."""
    late_units: int
    """Units that waited for a read ahead which was under way; they are among the hits if it has
    brought them.
    """
    fills: int
    """Partly written units whose rest came from the cache."""
    ahead_units: int
    """Units that were read ahead and have entered the cache."""
    ahead_used: int
    """Units read ahead that a read then has asked for: the first hit of each."""
    ahead_unused: int
    """Units read ahead that have left the cache before any read asked for them."""
    evicted_units: int
    """Units that have made room for others."""
    dropped_units: int
    """Units that have left because they were written, trimmed or reset."""
    room_units: int
    """Units that the cache can hold."""
    held_units: int
    """Units that it holds at the end."""

class Refresh(Table):
    """Refresh and patrol of a run, the report's `refresh`."""

    blocks: RefreshBlocks
    """Blocks that the FTL has taken to be rewritten, by reason. An FTL with a coarse map moves
    whole logical blocks for one of them.
    """
    units: int
    """Units that were moved out of these blocks; they are among `ftl.gc_copies`."""
    patrol_finds: int
    """Patrol reads that put a block into the queue."""
    write_amplification: float
    """Units moved by refresh / units written by the host: their part of `ftl.write_amplification`.
    """
    waiting_blocks: int
    """Blocks that wait to be rewritten at the end of the run."""
    oldest_hours: float
    """Age of the oldest data at the end."""
    patrol_energy_uj: float
    """Energy of patrol reads in array and bus, retries included."""

class RefreshBlocks(Table):
    """Blocks taken to be rewritten, by reason."""

    age: int
    """Blocks with old data (`refresh.after_hours`, `refresh.reduced_after_hours`)."""
    rber: int
    """Blocks with many bit errors (`refresh.rber`)."""
    retries: int
    """Blocks of a patrol read that needed `gc.reclaim_rounds` retries."""

class Replicates(Table):
    """Replicates of a run, the report's `replicates`."""

    count: int
    """Replicates that have ended."""
    seeds: list[int]
    """Seed of each replicate."""
    figures: dict[str, Figure]
    """Figures of the report over the replicates, by their paths: `host.read.latency_us.p99`. A
    figure that a replicate lacks is left out, and one that is 0 in all of them.
    """

class Settled(Table):
    """Settling of a run, the report's `settled`."""

    metric: str
    """Metric that is watched: `write_amplification`, or the one that `--until` names (`iops`,
    `bandwidth`, `p99.9` in µs). Here write amplification leaves padding out, which depends on
    flushes and small writes and not on the state of the drive.
    """
    rule: str
    """Rule for settling. `trend`: the last half of the run, of two drive writes at least, is cut
    into eight parts; the 95 % confidence interval of the drift of a line through them lies within
    10 % of the mean, blocks were reclaimed in every part, and the drive stands still: units that
    hold data and erased units change by 2 % at most. `pts`: SNIA's Performance Test Specification,
    with a quarter of a drive write as a round: over five rounds the values lie within 20 % of the
    mean, the line through them falls or rises by 10 % at most, and the drive stands still. `fio`:
    `steadystate` of the job file.
    """
    settled_value: float | None
    """Value over these parts; where a run of uniform random writes to the whole drive is too short
    for the rule, that at the end of the preconditioning `steady` or `rested`; `null` where neither
    is known: run longer.
    """
    settled_by: str | None
    """Origin of `settled_value`: `run` or `precondition`."""
    run_value: float | None
    """Value over the whole run; `null` where there is none (no writes, no time)."""
    ok: bool | None
    """Whether `run_value` lies within 10 % of `settled_value`; `false` where none is known, `null`
    where there is no `run_value`. A notice says so, and `nandlab lint`.
    """
    drive_writes: float
    """Bytes written by the host over the capacity."""

class Sim(Table):
    """Time and memory of a run, the report's `sim`."""

    simulated_s: float
    """Simulated time of the run from where it counts, preconditioning not counted (it takes none).
    """
    skipped_s: float
    """Simulated time before that, which `--skip` leaves out of every figure. Times in the series,
    the request log and the timeline are those since the run began, skipped or not.
    """
    wall_s: float
    """Wall time of the run, without preconditioning."""
    requests_per_wall_s: float
    """Requests completed in a second of wall time."""
    events: int
    """Events that the engine scheduled."""
    peak_rss_mb: float
    """Peak memory of the process."""
    precondition_write_amplification: float | None
    """Write amplification of the last whole drive write of `steady` preconditioning; else `null`.
    """
    precondition_settled: bool | None
    """Whether `steady` settled before it had overwritten the drive 12 times; else `null`."""
    begun: bool
    """Whether the run began: `false` after Ctrl-C during preconditioning; all counts are then 0."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended the run before its workload did."""
    precondition_wall_s: float
    """Wall time of the preconditioning before the run."""

class Snapshot(Table):
    """Moment at which a served drive was saved."""

    at_s: float
    """Simulated time of the snapshot."""

class Started(Table):
    """Time and reads of a start-up that is over."""

    time_s: float
    """Time from power to ready."""
    log_reads: int
    """Pages read of the log and of copies."""
    page_reads: int
    """Pages read of other blocks, those that turned out to be empty too."""
    summary_reads: int
    """Pages of summaries read."""
    erased_blocks: int
    """Blocks erased because nothing in them could be read."""
    restored_units: int
    """Units that the cut had spoilt, restored from copies."""
    mapped_units: int
    """Units found with data."""

class StateUse(Table):
    """Use of a power state."""

    time_s: float
    """Time in the state, without entries and exits."""
    entries: int
    """Entries that were begun."""
    energy_uj: float
    """Energy of controller, DRAM and link in the state."""

class Summary(Table):
    """Totals of a trace: requests, time, devices, locality."""

    format: str
    """Name of the format that the trace was read as."""
    timed: bool
    """Whether requests are sent at times of their own; `false` where `iodepth` sets those of the
    file aside.
    """
    requests: int
    """Requests of all kept devices."""
    by_op: ByOp
    """Requests and bytes of each operation."""
    span_s: float
    """Seconds from the earliest to the latest request; 0 where `timed` is `false`."""
    devices: list[DeviceSummary]
    """Address spaces of the trace, in the order in which they are laid out."""
    lines: int
    """Lines of the file."""
    crlf_lines: int
    """Lines that ended in CR LF."""
    skipped_lines: dict[str, int]
    """Lines left out, by reason: headers and events of other actions do not count."""
    non_monotonic: int
    """Requests earlier than the one before them."""
    unaligned_4k_share: float
    """Share of the requests that begin or end within a 4 KiB unit."""
    sequential_share: float
    """Share of the requests that begin where the one before them on their device ended."""
    marked_writes: int | None
    """Writes that the format marks as ones that somebody waits for; `null` for formats without
    marks.
    """
    interarrival: Interarrival | None
    """Time between consecutive requests; `null` where `timed` is `false`."""
    footprint_4k: int
    """Distinct units of 4 KiB read, written or trimmed; of `nandlab trace info` only."""
    rewrite_factor: float
    """Unit writes over distinct units written; of `nandlab trace info` only."""
    top_20_percent_write_share: float
    """Share of the unit writes that go to the most written fifth of the written units; of `nandlab
    trace info` only.
    """
    unique_written_4k: int
    """Distinct units of 4 KiB that were written; of `nandlab trace info` only."""

class Temperature(Table):
    """Temperature of a drive in a run."""

    end_c: float
    """Temperature at the end in degrees Celsius."""
    max_c: float
    """Highest temperature since the run began in degrees Celsius, with the part that `--skip`
    leaves out.
    """
    throttled_s: dict[str, float]
    """Time in which each limit has acted, by its name."""

class Tenant(Table):
    """Tenant of a run: all jobs of one name."""

    name: str
    """Name of its jobs."""
    jobs: int
    """Number of its jobs."""
    alone: Operation
    """Requests of its run alone, all operations."""
    together: Operation
    """Requests of its run beside the others, all operations."""
    slowdown: float | None
    """Mean latency together over mean latency alone; `null` where it completed no request in one of
    the two runs.
    """

class Tenants(Table):
    """Tenants of a run, the report's `tenants`."""

    fairness: float | None
    """Least slowdown over the most: 1 where sharing the drive costs all alike, near 0 where one
    pays for the others; `null` where fewer than two have a slowdown.
    """
    jobs: list[Tenant]
    """Tenants in the order of the job file."""

class Waits(Table):
    """Waits of the slowest requests of an operation."""

    percent: float
    """Percentile: the row is of the requests at least as slow; 0 is all of them."""
    requests: float
    """Number of these requests; a fraction where the percentile lies within a bucket of latencies,
    which is 1.1 % wide.
    """
    mean_us: float
    """Mean latency of these requests."""
    causes_us: dict[str, float]
    """Mean time by cause. The causes add up to the latency of every request exactly; a request of
    several flash commands waits for the one that ends last.
    """

class Wear(Table):
    """Program/erase cycles of the blocks in use."""

    min: int
    """Fewest program/erase cycles of a good block."""
    mean: float
    """Mean program/erase cycles of the good blocks."""
    max: int
    """Most program/erase cycles of a good block."""

class Windows(Table):
    """Windows of predictable latency, the report's `windows`."""

    kept: int
    """Deterministic windows that lasted for the whole of their time, or until the host ended them.
    """
    broken: int
    """Deterministic windows that ended early, or could not open: the host needed space that only
    collection could make, or it turns the windows and has used one up.
    """
    open_s: float
    """Time in deterministic windows, those that were broken included; where sets have windows of
    their own, the times of all of them together.
    """
    inside: InWindows
    """Requests that the drive took in a deterministic window, whenever they were complete. Rates of
    a drive whose sets have windows of their own are means over these.
    """
    outside: InWindows
    """Requests that the drive took between deterministic windows. Those for dies without windows
    are in neither.
    """
    sets: list[WindowsOfSets] | None
    """Windows of each set of dies, where sets have windows of their own; else `null`."""

class WindowsOfSets(Table):
    """Windows with a course of their own, a row of `windows.sets`."""

    sets: list[int]
    """Sets of dies that have them, from 0 in the order of the report's `sets`."""
    kept: int
    """Deterministic windows that lasted for the whole of their time, or until the host ended them.
    """
    broken: int
    """Deterministic windows that ended early, or could not open: the host needed space that only
    collection could make, or it turns the windows and has used one up.
    """
    open_s: float
    """Time in deterministic windows, those that were broken included; where sets have windows of
    their own, the times of all of them together.
    """
    inside: InWindows
    """Requests for these sets that the drive took in a deterministic window."""
    outside: InWindows
    """Requests for these sets that the drive took between deterministic windows."""

class Workload(Table):
    """Workload of a run as its caller gave it."""

    name: str
    """Name of the workload in titles."""
    kind: str
    """Kind of the workload: `fio`, `fio_text`, `trace`, or `clients` of a served drive."""
    source: str
    """Path of the workload, or its text."""
    precondition: str
    """State that the drive was brought into before the run."""
    skip: str | None
    """Beginning of the run that does not count; `null` where it was not given."""
    until: str | None
    """End of the run; `null` where it was not given."""
    set: list[str]
    """Assignments that `--set` has made."""
    format: str | None
    """Format of the trace; `null` where it was not given. Only of traces."""
    iodepth: int | None
    """Queue depth of a trace's replay; `null` where it was not given. Only of traces."""
    tenants: bool | None
    """Whether each job has run alone too. Only where it was asked for."""

class Zones(Table):
    """Zones of a drive, the report's `zones`."""

    zones: int
    """Number of zones of the drive."""
    zone_bytes: int
    """Bytes from the start of a zone to that of the next."""
    zone_capacity_bytes: int
    """Bytes that a zone takes."""
    writable_bytes: int
    """Bytes that all zones take."""
    max_open_zones: int
    """Most zones that may be open, 0 is no limit."""
    max_active_zones: int
    """Most zones that may be active, 0 is no limit."""
    zrwa_bytes: int
    """Bytes of a random write area; 0 where zones have none."""
    zrwa_flush_bytes: int
    """Granularity of commits of random write areas, in bytes."""
    zrwa_zones: int
    """Most zones that may have a random write area at a time."""
    states: dict[str, int]
    """Zones by their state at the end."""
    appends: int
    """Appends that were carried out."""
    resets: int
    """Resets that were carried out."""
    finishes: int
    """Finishes that were carried out."""
    opens: int
    """Opens that were carried out."""
    closes: int
    """Closes that were carried out."""
    reset_units: int
    """Units that resets have dropped."""
    area_opens: int
    """Opens that gave a zone a random write area, or kept it."""
    commits: int
    """Commits of random write areas that the host has asked for."""
    implicit_commits: int
    """Commits of random write areas by writes that ended beyond them."""
    committed_units: int
    """Units of random write areas that commits and finishes have sent on to flash."""
    overwritten_units: int
    """Units overwritten in random write areas: their older data never reach flash."""
    blank_units: int
    """Committed units that the host has not written: zeros are programmed for them."""
    refused: dict[str, int]
    """Requests that were refused, by the names of NVM Express."""
    append: Operation
    """Appends to zones, as operations in `host`."""
    reset: Operation
    """Resets of zones, as operations in `host`."""
    finish: Operation
    """Finishes of zones, as operations in `host`."""
    open: Operation
    """Opens of zones, as operations in `host`."""
    open_area: Operation
    """Opens of zones with a random write area, as operations in `host`."""
    commit: Operation
    """Commits of random write areas, as operations in `host`."""
    close: Operation
    """Closes of zones, as operations in `host`."""

class Report(Table):
    """Report of a run."""

    nandlab: About
    """Configuration of the run."""
    sim: Sim
    """Time and memory of the run."""
    settled: Settled
    """Whether the run stands for the drive in steady state."""
    host: Host
    """Requests of the host. Latency counts from arrival in the host's queue to completion; in open
    loop from the time that the trace gives. Requests that complete in a job's `ramp_time` are not
    in `latency_us`, `iops`, `bandwidth_mb_s` and `requests`, but in `requests_issued` and
    `requests_completed`.
    """
    jobs: list[Job]
    """Jobs in the form of fio. A list of fio's own job objects, one for each job (clones of
    `numjobs` apart), so that tools for fio's JSON read it. The runtime of a job ends with its own
    last completion. fio's `disk_util` is not written.
    """
    ftl: Ftl
    """Work of the FTL, since the start of the run."""
    nand: Nand
    """Operations of the flash."""
    channels: Channels
    """Busy shares of the channels. Where dies and bus could do about as much, a drive stays 3 to 12
    % under the smaller of the two: dies take turns on the bus, and wait for each other.
    """
    dies: Dies
    """Shares of all dies' time, which add up to 1."""
    front: Front
    """Busy shares of the controller's cores and of the link."""
    ecc: Ecc
    """Codewords and their decoders."""
    buffer: BufferCounts
    """Work of the write buffer."""
    read_cache: ReadCache | None
    """Work of the read cache. `null` on a drive without `[read_cache]`. Units of reads are hits,
    misses, hits of the write buffer (`buffer.read_hits`), or were never written
    (`host.read_units_unwritten`).
    """
    refresh: Refresh | None
    """Blocks rewritten before their data are lost. `null` on a drive without refresh and patrol
    (years).
    """
    endurance_group: EnduranceGroup
    """Counters of Flexible Data Placement. As NVM Express names them. The whole drive is one
    endurance group. The bytes of flash are counted by the chips and not by the FTL.
    """
    energy: DriveEnergy | None
    """Energy of the whole drive. `null` on a drive without `[power]` (power)."""
    cost: Cost | None
    """Price of the flash. `null` where `chip.cost_per_gb` is not given."""
    power: Power | None
    """Work for the next start-up, and losses of a power cut. `null` on a drive without recovery
    (power loss). All else in the report is of the time before the cut.
    """
    zones: Zones | None
    """Zones of the drive. `null` on a drive without zones (zones). `jobs` counts appends among the
    writes of a job. Resets and finishes are the trims of a job that writes nothing.
    """
    windows: Windows | None
    """Windows of predictable latency. `null` on a drive without `[windows]` (predictable latency).
    """
    sets: list[NvmSet] | None
    """Sets of dies, each with an FTL of its own. `null` on a drive whose namespaces share its dies
    (namespaces and sets). The set of shared dies comes last. Latency by namespace is that of the
    jobs that name it.
    """
    exchange: Exchange | None
    """Exchange of a die. `null` of a run in which no die was to be exchanged (exchange)."""
    tenants: Tenants | None
    """Jobs that share the drive, each beside the others and alone. `null` without `--tenants`
    (tenants).
    """
    replicates: Replicates | None
    """Replicates of the run. `null` without `--replicates`. Elsewhere the report is of all
    replicates together (replicates).
    """
    checks: Checks
    """Laws that every run is held to. They hold for the whole run, also for the part that `--skip`
    leaves out of the other figures. `nandlab run` prints `FAILED` with the violated check.
    """
    timestamp: int
    """Time stamp in fio's form: always 0."""
    time: str
    """Date in fio's form: always `simulated`."""
    blame: Blame | None
    """Causes that requests waited for. `null` unless `--explain` (in Python `explain=True`) asked
    for it. For each operation with requests a list of rows, one for each percentile.
    """
    device: Device
    """Clients of a served drive. Only in the report of a drive that clients have used as a disk
    (`nandlab nbd`, NBD). `jobs` has one job, `clients`, which stands for all of them.
    """
