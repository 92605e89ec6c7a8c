"""Models of the drives that were only read: times of clean reads, law of the errors, read reclaim.

Times of clean reads are calibrated on the first pass, one for each page type; a chip and its
controller cannot be told apart in them. Errors of the worn drives I and B are fitted to their
first half (`fit.py`). The other drives of charge-trap flash take the growth of I, from the share of
slow reads of their own first pass. The planar drive A has the cell of its kind.
"""

from functools import cache
from math import exp
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import nandlab

#: A drive with the code and the chips of the class.
DRIVE = "modern_tlc"

#: Pages of a block of 64 layers, four strings and three bits (assumed): a pass reads each once.
PAGES = 768

#: Two small dies: reads of a block in a pass do not depend on the number of blocks. Half of each
#: plane is data, in whole blocks: none of it waits in an open block.
SMALL = {
    "drive.channels": 2,
    "drive.dies_per_channel": 1,
    "chip.geometry.pages_per_block": PAGES,
    "chip.geometry.blocks_per_plane": 16,
    "ftl.overprovisioning": 1.0,
}

#: Part of the flash that holds data: a rewrite costs a block this part of a cycle.
FULL = 0.5

#: Law of drive I: error rate of a mean page, its growth in a thousand passes, the power of the
#: reads, and the standard deviation of the logarithm over pages.
RATE, GROWTH, POWER, SPREAD = 0.00282, 0.189, 1.2, 0.3

#: Standard deviations from the mean page of drive I to the limit of the code (`fit.py`).
DEVIATES = 3.417

#: Passes at which the law is given; between them the rate is interpolated.
GIVEN = (0, *range(25, 500, 25), *range(500, 3600, 100))

JOB = """[reads]
rw=randread
bs=16k
iodepth=1
number_ios={reads}
"""


def rate_of(share):
    """Error rate of a mean page where this share of pages is beyond the limit of the code."""
    return RATE * exp(SPREAD * (DEVIATES + NormalDist().inv_cdf(share)))


def of_reads(rates, growth=GROWTH, power=POWER):
    """Table of rates that grow with reads, one for each page type."""
    points = [
        {
            "pe_cycles": 0,
            "hours": 0,
            "reads": passes * PAGES,
            "rber": [rate * (1 + growth * (passes / 1000) ** power) for rate in rates],
        }
        for passes in GIVEN
    ]
    return {"chip.array.points": points, "chip.array.page_spread": SPREAD}


#: The law of drive I: all page types are alike, as the tail alone does not tell them apart.
LAW_I = of_reads([RATE] * 3)

#: The law that fits the first half of drive I best: errors grow with the first power of the reads.
FIRST_POWER = of_reads([RATE * exp(SPREAD * (DEVIATES - 3.464))] * 3, 0.212, 1.0)

#: Drive B: power of its cycles in the rate (`fit.py`), cycles at the start and passes that cost it
#: another (its SMART), passes until all data are rewritten.
B_POWER, B_CYCLES, B_PASSES_A_CYCLE, B_LIMIT = 2.21, 1165, 49.0, 38.5


def of_cycles(rates):
    """Table of rates that grow with the cycles that reclaim costs drive B."""
    scale = B_LIMIT / B_PASSES_A_CYCLE / FULL
    points = [
        {
            "pe_cycles": cycles,
            "hours": 0,
            "reads": 0,
            "rber": [rate * (1 + scale * cycles / B_CYCLES) ** B_POWER for rate in rates],
        }
        for cycles in range(0, 65, 4)
    ]
    return {"chip.array.points": points, "chip.array.page_spread": SPREAD}


class Real(NamedTuple):
    """Model of a real drive."""

    clean_us: tuple[float, ...]
    """Latency of a clean read of each page type, as the host sees it."""
    sense_us: float
    """Array read of the fastest page (assumed); the rest of its latency is the controller's."""
    law: dict[str, object]
    """Errors of its pages, as overrides."""
    limit: float = 0.0
    """Passes after which read reclaim rewrites all data; 0 is never."""
    link: str = "sata_6g"
    """Preset of its host."""
    path_us: float = 54.3
    """Time of a clean read beside sense and firmware: link, bus, decoder and host."""
    pages: int = PAGES
    """Pages of a block."""
    retry_us: float = 0.0
    """Time of the firmware for a retry, beside that of its reads."""

    def sets(self):
        """Overrides of the preset that make this drive."""
        fastest = min(self.clean_us)
        return (
            SMALL
            | {
                "host.preset": self.link,
                "controller.command_us": fastest - self.sense_us - self.path_us,
                "chip.timing.t_read_us": [us - fastest + self.sense_us for us in self.clean_us],
                "chip.geometry.pages_per_block": self.pages,
                "ecc.t_soft_decode_us": self.retry_us,
                "gc.reclaim_reads": round(self.limit * self.pages),
            }
            | self.law
        )


#: Chip of four bits a cell, with blocks of 64 layers and four strings.
QLC = {"chip.preset": "qlc_64l_2p"}


def alike(share, types=3):
    """Growth of drive I, from a share of slow reads of the first pass, for all page types."""
    return of_reads([rate_of(1e-6 * share)] * types)


DRIVES = {
    "a": Real(
        (247.4, 267.7, 288.2),
        56.5,
        {"chip.preset": "tlc_planar", "age.pe_cycles": 1162},
        limit=202.0,
        link="sata_3g",
        path_us=136.7,
        pages=384,
    ),
    # Slow reads of two page types: 17,200 ppm over 300 us, and of them 1,350 over 400.
    "b": Real(
        (181.2, 213.9, 269.3),
        71.5,
        of_cycles([rate_of(3 * 0.0159), rate_of(3 * 0.00135), rate_of(1e-9)]),
        limit=B_LIMIT,
    ),
    "c": Real(
        (233.0, 262.0, 327.0, 430.0),
        100.0,
        QLC | alike(136, 4),
        limit=49.0,
        path_us=66.3,
        pages=1024,
    ),
    "e": Real((195.0, 203.1, 217.8), 60.0, alike(92), limit=193.0, link="sata_3g", path_us=78.7),
    "f": Real((176.0, 190.5, 213.0), 60.0, alike(500), limit=360.0, pages=864),
    "h": Real((244.4, 276.2, 276.2, 289.3), 100.0, QLC | alike(22, 4), path_us=66.3, pages=1024),
    "i": Real((162.4, 249.5, 278.8), 60.0, LAW_I, retry_us=750.0),
    "i_first": Real((162.4, 249.5, 278.8), 60.0, FIRST_POWER, retry_us=750.0),
}


class Reads(NamedTuple):
    """Reads of a drive after some passes."""

    latency_us: np.ndarray
    retried_ppm: float
    """Share of reads that needed more than a hard decision."""

    def percentile(self, percent):
        """Latency that this part of the reads does not exceed."""
        return float(np.percentile(self.latency_us, percent))

    def over(self, us):
        """Share of reads that take longer, in ppm."""
        return 1e6 * float(np.mean(self.latency_us > us))


@cache
def begun(name, seed):
    """A filled drive that was not read yet."""
    return nandlab.Drive(DRIVE, set=DRIVES[name].sets(), seed=seed).precondition("fill")


@cache
def read_after(name, passes, seed, reads=100_000):
    """Reads of a drive after `passes` over all its data."""
    drive = begun(name, seed).clone().age(read_passes=passes)
    result = drive.run(JOB.format(reads=reads), requests=True, is_last=True)
    report = result.report
    retried = 1e6 * sum(report.ecc.soft_reads) / report.host.requests_completed
    return Reads(1e-3 * result.requests()["latency_ns"].to_numpy(), retried)
