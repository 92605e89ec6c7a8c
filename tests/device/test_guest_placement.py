"""nvme-cli of a Linux guest reads and sets the placement handles of a served drive."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

import nandlab as lab
from tests.conftest import ROOT
from tests.device.guest.connected import DISK, connected
from tests.device.guest.machine import Guest
from tests.device.test_guest import wide

#: Superblocks over all dies are the reclaim units of four handles.
DRIVE = {
    "chip.geometry.pages_per_block": 16,
    "ftl.superblock_dies": 0,
    "ftl.overprovisioning": 0.6,
    "ftl.host_streams": 4,
}


def told(guest: Guest, command: str) -> Any:
    """What nvme-cli prints as JSON."""
    output = guest.run(f"nvme {command} -o json")
    return json.loads(output[output.index("{") :])


def left(guest: Guest) -> list[int]:
    """Blocks that the unit of each handle still takes."""
    return [one["ruamw"] for one in told(guest, f"fdp status {DISK}")["ruhss"]]


def test_nvme_cli_reads_and_sets_placement(guest: Guest) -> None:
    """Configurations, usage, state, statistics and events; writes by handle, and an update."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        [configuration] = told(guest, "fdp configs /dev/nvme0 -e 1")["configs"]
        # Blocks of 16 pages of 8 KiB in the two planes of four dies.
        assert configuration["runs"] == 16 * 8192 * 2 * 4
        assert guest.run("nvme fdp configs /dev/nvme0 -e 1").count("Initially Isolated") == 4
        assert "1" in guest.run("nvme list-endgrp /dev/nvme0")
        assert "data_units_written" in guest.run("nvme endurance-log /dev/nvme0 -g 1")
        assert "FID 1d" in guest.run("nvme fid-support-effects-log /dev/nvme0")
        assert len(told(guest, "fdp usage /dev/nvme0 -e 1")["ruhus"]) == 4
        blocks = configuration["runs"] // 512
        assert left(guest) == [blocks] * 4
        guest.run(f"nvme fdp set-events {DISK} -p 1 -t 0 -e")
        guest.run("dd if=/dev/urandom of=/tmp/data bs=64k count=1")
        write = f"nvme write {DISK} -s 0 -c 127 -z 65536 -d /tmp/data --dir-type=2 --dir-spec=1"
        guest.run(write)
        guest.run(f"nvme read {DISK} -s 0 -c 127 -z 65536 -d /tmp/read")
        guest.run("cmp /tmp/data /tmp/read")
        assert left(guest) == [blocks, blocks - 128, blocks, blocks]
        guest.run(f"nvme fdp update {DISK} -p 1")
        assert left(guest) == [blocks] * 4
        [event] = told(guest, "fdp events /dev/nvme0 -e 1 -E")["events"]
        assert (event["type"], event["pid"]) == (0, 1)
        statistics = told(guest, "fdp stats /dev/nvme0 -e 1")
        assert int(statistics["hbmw"]) == 65536
        assert int(statistics["mbmw"]) >= 65536
        # Value of the feature: enabled, in configuration 0.
        assert "value:0x00000001" in guest.run("nvme get-feature /dev/nvme0 -f 0x1d --cdw11=1")
        output, status = guest.tried(
            "nvme set-feature /dev/nvme0 -f 0x1d --cdw12=0 --save -n 0 --value=1"
        )
        assert status != 0
        assert "Sequence" in output
        # This nvme-cli has no words for the directive: those that are there, and are enabled.
        guest.run(f"nvme dir-receive {DISK} -D 0 -O 1 -l 4096 -b > /tmp/page")
        assert guest.run("od -An -tu1 -j 0 -N 1 /tmp/page").strip() == "5"
        assert guest.run("od -An -tu1 -j 32 -N 1 /tmp/page").strip() == "5"
        # fio names handles from version 3.34 on; the way of its commands is the same.
        guest.run(
            "fio --name=a --filename=/dev/ng0n1 --size=4m --bs=4k-64k --rw=randwrite"
            " --ioengine=io_uring_cmd --cmd_type=nvme --iodepth=8 --verify=crc32c --verify_fatal=1"
        )


def test_a_cache_costs_what_both_logs_say(guest: Guest) -> None:
    """Another host is a cache, with and without handles; nvme-cli reads its write amplification."""
    cache = runpy.run_path(str(ROOT / "examples/device/flash_cache.py"))
    found = []
    for handles in ((None, None), (0, 1)):
        sets = {**cache["DRIVE"], "ftl.host_streams": 2}
        capacity = lab.Drive("tiny", set=sets).capacity_bytes
        with lab.serve("tiny", set=sets, clock="fast", protocol="nvme", port=0) as server:
            cache["fill"](server.uri, capacity, 8, handles)
            with connected(guest, server):
                statistics = told(guest, "fdp stats /dev/nvme0 -e 1")
                ocp = told(guest, "ocp smart-add-log /dev/nvme0")
            report = server.stop().to_dict()["endurance_group"]
        # The kernel has only read, and as it left the last data went to flash.
        assert int(statistics["hbmw"]) == report["host_bytes"]
        media = int(statistics["mbmw"])
        assert wide(ocp, "Physical media units written") == media
        assert media == pytest.approx(report["media_bytes"], rel=0.01)
        found.append(report["write_amplification"])
    assert found[1] < 0.8 * found[0], found
