"""A synthetic flow of MQSim as a fio job."""

from __future__ import annotations

import math
from statistics import NormalDist

from nandlab.imported.given import Given
from nandlab.imported.job import Job

SECTOR = 512
"""Bytes of a sector, the unit of sizes and alignments."""

_PARTS = 20
"""Sizes of equal share that stand for a normal distribution: 5 % each."""


def put_flow(job: Job, offset: int, size: int, config: Given) -> None:
    """Sets the options of a job.

    Args:
        job: of the flow.
        offset: first byte of its part of the drive.
        size: bytes of that part.
        config: keys of the configuration.

    Raises:
        NandlabError: a flow that never sends a request.
    """
    given = job.given
    hole = _put_directions(job)
    _put_sizes(job)
    _put_addresses(job, offset, size)
    if hole:
        job.notes.append("STREAMING begins at a drawn address there, and at the first one here.")
    _put_pace(job, config)
    stop_ns, requests = given["Stop_Time"], given["Total_Requests_To_Generate"]
    if stop_ns:
        job.put("time_based", 1)
        job.put("runtime", f"{max(1, stop_ns // 1000)}us", "Stop_Time", how="ns")
    elif requests:
        job.put("number_ios", requests, "Total_Requests_To_Generate", "Stop_Time")
    else:
        hint = "give Stop_Time or Total_Requests_To_Generate"
        raise given.refuse("Total_Requests_To_Generate", "ends the flow at once", hint=hint)
    job.put("randseed", given["Seed"], "Seed")


def _put_directions(job: Job) -> bool:
    """Reads and writes, in order or at random: whether in order."""
    given = job.given
    reads = given["Read_Percentage"]
    streams = bool(given["Address_Distribution"] == "STREAMING")
    kind = "read" if reads == 100 else "write" if reads == 0 else "rw"
    name = kind if streams else f"rand{kind}"
    if streams and (gap := _gap(given)):
        name = f"{name}:{gap}"
    job.put("rw", name, "Read_Percentage", "Address_Distribution")
    if kind == "rw":
        job.put("rwmixread", reads, "Read_Percentage")
        if streams:
            job.notes.append(
                "Reads and writes of a STREAMING flow follow each other there, here each "
                "direction has a position of its own."
            )
    return streams


def _gap(given: Given) -> int:
    """Bytes between a request and the next one of a stream, which is aligned."""
    if not given["Generated_Aligned_Addresses"]:
        return 0
    unit, length = given["Address_Alignment_Unit"], given["Average_Request_Size"]
    return int(-length % unit * SECTOR)


def _put_sizes(job: Job) -> None:
    """The size of requests: one, or the quantiles of a normal distribution."""
    given = job.given
    mean, spread = given["Average_Request_Size"], given["Variance_Request_Size"]
    if given["Request_Size_Distribution"] == "FIXED" or spread == 0:
        names = ["Average_Request_Size", "Request_Size_Distribution"]
        job.put("bs", mean * SECTOR, *names, how="sectors of 512 bytes")
        return
    drawn = NormalDist(mean, spread)
    shares: dict[int, int] = {}
    for part in range(_PARTS):
        sectors = max(1, math.ceil(drawn.inv_cdf((part + 0.5) / _PARTS)))
        shares[sectors] = shares.get(sectors, 0) + 100 // _PARTS
    split = ":".join(f"{sectors * SECTOR}/{share}" for sectors, share in shares.items())
    names = ["Average_Request_Size", "Variance_Request_Size", "Request_Size_Distribution"]
    # MQSim's code takes the number as the standard deviation.
    job.put("bssplit", split, *names, how="twentieths of the bell, standard deviation")


def _put_addresses(job: Job, offset: int, size: int) -> None:
    """The part of the drive, and how requests are drawn in it."""
    given = job.given
    ids = ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs")
    job.put("offset", offset, *ids, how="the flow's share of the drive")
    part = size * given["Working_Set_Percentage"] // 100
    job.put("size", max(4096, part - part % 4096), "Working_Set_Percentage", how="of that share")
    way = given["Address_Distribution"]
    if way == "STREAMING":
        if given["Generated_Aligned_Addresses"]:
            given.move(["Generated_Aligned_Addresses", "Address_Alignment_Unit"], "rw")
        return
    job.put("norandommap", 1, "Address_Distribution", how="addresses are drawn anew")
    hot = given["Percentage_of_Hot_Region"]
    if way == "RANDOM_HOTCOLD" and 0 < hot < 100:
        zones = f"zoned:{100 - hot}/{hot}:{hot}/{100 - hot}"
        job.put("random_distribution", zones, "Percentage_of_Hot_Region")
    if given["Generated_Aligned_Addresses"]:
        unit = given["Address_Alignment_Unit"] * SECTOR
        job.put("blockalign", unit, "Address_Alignment_Unit", "Generated_Aligned_Addresses")
    else:
        job.put("blockalign", SECTOR, "Generated_Aligned_Addresses")


def _put_pace(job: Job, config: Given) -> None:
    """Requests in flight, or the rate at which they arrive."""
    given = job.given
    if given["Synthetic_Generator_Type"] == "QUEUE_DEPTH":
        names = ["Average_No_of_Reqs_in_Queue", "Synthetic_Generator_Type"]
        job.put("iodepth", given["Average_No_of_Reqs_in_Queue"], *names)
        return
    reads = given["Read_Percentage"]
    rate = given["Bandwidth"]
    rates = [max(1, rate * share // 100) for share in (reads, 100 - reads)]
    job.put(
        "rate",
        rate if reads in (0, 100) else ",".join(map(str, rates)),
        "Bandwidth",
        "Synthetic_Generator_Type",
        how="bytes a second",
    )
    job.put("rate_process", "poisson", how="as MQSim draws them")
    config.move(["IO_Queue_Depth"], "iodepth")
    job.put("iodepth", config["IO_Queue_Depth"], how=config.spoken("IO_Queue_Depth"))
