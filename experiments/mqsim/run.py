"""MQSim's default drive: random reads with all of the map in memory, and with a map cache of 2 MB.

One function for each row of `reference.csv`; `nandlab papers mqsim` runs them. Rows of nandlab run
the preset with one die for each chip. Rows of *queues* are a model of their own, below: the same
queues, with what we know of MQSim's rules. They show which rules make the difference.
"""

import heapq
import math
import random
from collections import OrderedDict, deque
from functools import cache

import nandlab
from nandlab.catalogue import chip

DRIVE = "mqsim_default"
DEPTH = 64

#: Of MQSim's 64 dies those that work at a time: one in each of 4 chips on 8 channels.
CHANNELS, CHIPS = 8, 4

#: MQSim's counts. An entry has two page numbers of 26 bits and a bit for each of 16 sectors; on
#: flash it lacks the first.
PAGES = 2**26
LOGICAL_PAGES = int(0.93 * PAGES)
CACHED_BYTES = math.ceil((2 * math.log2(PAGES) + 16) / 8)
STORED_BYTES = math.ceil((math.log2(PAGES) + 16) / 8)
MAP_CACHE_BYTES = 2 * 2**20

# --- nandlab -------------------------------------------------------------------------------------

#: Blocks of a plane of 2,048, so that a run takes a second: reads do not depend on them.
BLOCKS = 256
#: So much smaller is the drive, with half of the dies: the map cache is smaller by as much.
SCALE = 2 * 2048 // BLOCKS

JOB = """[reads]
rw=randread
bs=4k
iodepth={depth}
norandommap=1
number_ios={requests}
"""


@cache
def reads_us(
    dies_per_channel=CHIPS,
    depth=DEPTH,
    map_cache_bytes=0,
    unit_bytes=4096,
    requests=200_000,
    data_first=False,
    seed=1,
):
    """Mean latency of random reads of 4 KiB on a full drive; no map cache: all of it in memory."""
    given = {
        "drive.data_first": data_first,
        "drive.dies_per_channel": dies_per_channel,
        "chip.geometry.blocks_per_plane": BLOCKS,
        "buffer.bytes": 0,
        "ftl.unit_bytes": unit_bytes,
        # What small planes need; nothing is collected here.
        "ftl.overprovisioning": 0.28,
        "gc.start_free_blocks": 13,
    }
    if map_cache_bytes:
        given |= {"ftl.name": "dftl", "ftl.map_cache_bytes": map_cache_bytes}
    job = JOB.format(depth=depth, requests=requests)
    return nandlab.run(DRIVE, job, set=given, seed=seed, precondition="fill").latency.mean


def shortest_us(seed=1):
    """One read at a time."""
    return reads_us(depth=1, requests=1000, seed=seed)


def map_in_memory_us(seed=1):
    """As MQSim's channels do it: data before commands."""
    return reads_us(data_first=True, seed=seed)


def map_in_memory_commands_first_us(seed=1):
    """Against MQSim with one rule changed."""
    return reads_us(seed=seed)


def two_chips_us(seed=1):
    """With two dies on each channel."""
    return reads_us(2, data_first=True, seed=seed)


@cache
def writes_us(seed=1):
    """Mean latency of random writes of 4 KiB, with two dies on each channel and no write buffer.

    MQSim maps pages of 8 KiB, so a write of 4 KiB reads the other half first, and programs planes
    one by one.
    """
    given = {
        "drive.dies_per_channel": 2,
        "drive.data_first": True,
        "chip.geometry.blocks_per_plane": BLOCKS,
        "chip.features.multi_plane_program": False,
        "buffer.bytes": 0,
        "ftl.unit_bytes": 8192,
        "ftl.overprovisioning": 0.28,
        "gc.start_free_blocks": 13,
    }
    job = JOB.format(depth=DEPTH, requests=20_000).replace("randread", "randwrite")
    return nandlab.run(DRIVE, job, set=given, seed=seed, precondition="fill").latency.mean


def nothing_cached_commands_first_us(seed=1):
    """The least cache: 64 entries of millions."""
    return reads_us(map_cache_bytes=512, seed=seed)


def map_cache_us(seed=1):
    """On a full drive, in the long run."""
    return reads_us(map_cache_bytes=MAP_CACHE_BYTES // SCALE, seed=seed)


# --- Queues --------------------------------------------------------------------------------------

USER, MAP, UPDATE = range(3)
"""Reads of the host, reads of map pages that one waits for, and those before a write of the map."""


class Timing:
    """Times of the preset's chip, in us."""

    def __init__(self):
        timing = chip("mqsim_mlc")["timing"]
        self.array, self.command = timing["t_read_us"], timing["t_command_us"]
        # MQSim cuts the time of a byte to whole nanoseconds: 3 at 333 MT/s.
        per_byte = math.floor(1000 / timing["bus_mt_s"]) / 1000
        self.page = 4096 * per_byte
        self.sector = 512 * per_byte


class Queues:
    """Dies that read one page at a time, and channels, under a closed loop of `DEPTH` requests.

    Args:
        data_first: whether data that wait for a channel go before commands, as in MQSim.
        map_page_us: transfer of a read of the map.
        cache: which reads need the map (`needs`); nothing: none does.
    """

    def __init__(self, *, data_first, map_page_us=None, cache=None, seed=1):
        self.timing = Timing()
        self.data_first, self.cache = data_first, cache
        self.transfer = {USER: self.timing.page, MAP: map_page_us, UPDATE: map_page_us}
        self.random = random.Random(seed)
        dies = CHANNELS * CHIPS
        # Reads of the map go before those of the host.
        self.waiting = [(deque(), deque()) for _ in range(dies)]
        self.data = [(deque(), deque()) for _ in range(CHANNELS)]
        self.is_die_free, self.is_free = [True] * dies, [True] * CHANNELS
        self.turn = [0] * CHANNELS
        self.events, self.order, self.now = [], 0, 0.0

    def mean_us(self, requests):
        """Mean latency of so many."""
        for _ in range(DEPTH):
            self.request()
        done, total = 0, 0.0
        while done < requests:
            self.now, _, step, die, kind, began = heapq.heappop(self.events)
            channel = die // CHIPS
            if step == "command":
                self.is_free[channel] = True
                self.after(self.timing.array, "array", die, kind, began)
            elif step == "array":
                self.data[channel][kind == USER].append((die, kind, began))
            else:
                self.is_free[channel] = self.is_die_free[die] = True
                if kind == MAP:
                    self.read(USER, began)
                elif kind == USER:
                    done, total = done + 1, total + self.now - began
                    self.request()
            self.go_on(channel)
        return total / requests

    def request(self):
        """The next of the closed loop."""
        needs = self.cache.needs(self.random) if self.cache else ()
        if UPDATE in needs:
            self.read(UPDATE, self.now)
        self.read(MAP if MAP in needs else USER, self.now)

    def read(self, kind, began):
        """Of any die."""
        die = self.random.randrange(CHANNELS * CHIPS)
        self.waiting[die][kind == USER].append((kind, began))
        self.go_on(die // CHIPS)

    def after(self, time, *event):
        """Books an event."""
        self.order += 1
        heapq.heappush(self.events, (self.now + time, self.order, *event))

    def go_on(self, channel):
        """Gives a free channel its next."""
        if self.is_free[channel]:
            steps = (self.send_data, self.send_command)
            first, second = steps if self.data_first else steps[::-1]
            self.is_free[channel] = not (first(channel) or second(channel))

    def send_data(self, channel):
        """Starts the next transfer; whether there is one."""
        for queue in self.data[channel]:
            if queue:
                die, kind, began = queue.popleft()
                self.after(self.transfer[kind], "data", die, kind, began)
                return True
        return False

    def send_command(self, channel):
        """Starts a read on the next free die in turn; whether there is one."""
        for _ in range(CHIPS):
            die = channel * CHIPS + self.turn[channel]
            self.turn[channel] = (self.turn[channel] + 1) % CHIPS
            if self.is_die_free[die]:
                for queue in self.waiting[die]:
                    if queue:
                        self.is_die_free[die] = False
                        self.after(self.timing.command, "command", die, *queue.popleft())
                        return True
        return False


class NothingCached:
    """Each read needs its map page."""

    def needs(self, _):
        """The reads of the map that the next request brings about."""
        return (MAP,)


class MapCache:
    """MQSim's cache of map entries, at a tenth of all sizes, on a drive that was never written.

    A read of a page that was never written makes its entry dirty. An entry that leaves has its map
    page read and queued for a write, with which all entries of that page are clean. The scheduler
    never takes these writes up, and until its write a map page counts as in memory.
    """

    def __init__(self, scale=10):
        self.most = MAP_CACHE_BYTES // CACHED_BYTES // scale
        self.pages = LOGICAL_PAGES // scale
        self.per_page = 8192 // STORED_BYTES
        self.is_dirty = OrderedDict()
        self.of_page = {}
        self.leaving = set()
        self.waits = self.updates = 0

    def needs(self, rng):
        """The reads of the map that the next request brings about."""
        page = rng.randrange(self.pages)
        if page in self.is_dirty:
            self.is_dirty.move_to_end(page)
            return ()
        reads = []
        if len(self.is_dirty) >= self.most and self.evict():
            reads.append(UPDATE)
            self.updates += 1
        self.is_dirty[page] = True
        self.of_page.setdefault(page // self.per_page, set()).add(page)
        if page // self.per_page not in self.leaving:
            reads.append(MAP)
            self.waits += 1
        return reads

    def evict(self):
        """The entry used longest ago; whether its map page is written."""
        page, is_dirty = self.is_dirty.popitem(last=False)
        map_page = page // self.per_page
        others = self.of_page[map_page]
        others.discard(page)
        if is_dirty:
            # Looking the others up counts as a use of them.
            for other in sorted(others):
                if self.is_dirty[other]:
                    self.is_dirty[other] = False
                    self.is_dirty.move_to_end(other)
            self.leaving.add(map_page)
        return is_dirty


@cache
def queues_us(*, data_first, nothing_cached=False, map_page_us=None, seed=1):
    """Mean latency of the queues, with all of the map in memory or with nothing of it."""
    needs = NothingCached() if nothing_cached else None
    queues = Queues(data_first=data_first, map_page_us=map_page_us, cache=needs, seed=seed)
    return queues.mean_us(100_000)


def data_first_us(seed=1):
    return queues_us(data_first=True, seed=seed)


def nothing_cached_data_first_us(seed=1):
    sector_us = Timing().sector
    return queues_us(data_first=True, nothing_cached=True, map_page_us=sector_us, seed=seed)


@cache
def with_map_cache(seed=1):
    """A tenth of a million reads: the mean, and the cache."""
    cache = MapCache()
    queues = Queues(data_first=True, map_page_us=Timing().sector, cache=cache, seed=seed)
    return queues.mean_us(100_000), cache


def map_cache_data_first_us(seed=1):
    return with_map_cache(seed)[0]


# --- Counts --------------------------------------------------------------------------------------


def map_reads(seed=1):
    """Of a million requests."""
    cache = with_map_cache(seed)[1]
    return 10 * (cache.waits + cache.updates)


def map_writes_queued(seed=1):
    return 10 * with_map_cache(seed)[1].updates


def picture():
    """MQSim's figures beside those of nandlab and of the queues."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    figure = new_figure(8.0, 4.6)
    axes = figure.subplots()
    groups = {
        "all of the map\nin memory": (282, map_in_memory_us(), data_first_us()),
        "nothing cached": (474, nothing_cached_commands_first_us(), nothing_cached_data_first_us()),
        "map cache of 2 MB": (350, map_cache_us(), map_cache_data_first_us()),
    }
    names = ("MQSim", "nandlab, 8 x 4 dies", "queues with MQSim's rules")
    for i, colour in enumerate(("0.6", COLOURS["read"], COLOURS["write"])):
        at = [j + 0.28 * (i - 1) for j in range(len(groups))]
        bars = axes.bar(at, [means[i] for means in groups.values()], 0.26, color=colour)
        axes.bar_label(bars, fmt="%.0f", padding=2)
        bars.set_label(names[i])
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_ylim(0, 700)
    axes.set_ylabel("mean latency of a read (µs)")
    axes.legend(loc="upper left", frameon=False)
    finish(axes, "random reads of 4 KiB, 64 at a time")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
