"""nvme-cli of a Linux guest reads the NVM sets and endurance groups of a served drive."""

from __future__ import annotations

import nandlab as lab
from tests.device.guest.connected import DISK, connected
from tests.device.guest.machine import Guest
from tests.device.test_guest_namespaces import told

#: A set of a die, one of two dies with more spare, and half of the die that is left.
DRIVE = {
    "chip.geometry.pages_per_block": 16,
    "namespace": [
        {"dies": 1},
        {"dies": 2, "ftl": {"overprovisioning": 0.6}},
        {"share": 0.5},
    ],
}


def test_nvme_cli_knows_sets_and_groups(guest: Guest) -> None:
    """The list of sets, the log of each group, and a namespace that is made in a set."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        guest.run("while [ ! -b /dev/nvme0n3 ]; do sleep 0.1; done")
        controller = told(guest, "id-ctrl /dev/nvme0")
        assert controller["ctratt"] & (1 << 2 | 1 << 4) == 1 << 2 | 1 << 4
        assert (controller["nsetidmax"], controller["endgidmax"]) == (3, 3)
        listed = told(guest, "id-nvmset /dev/nvme0")
        sets = listed["NVMSet"]
        assert [one["nvmset_id"] for one in sets] == [1, 2, 3]
        assert [one["endurance_group_id"] for one in sets] == [1, 2, 3]
        capacities = [int(one["total_nvmset_cap"]) for one in sets]
        assert sum(capacities) == int(controller["tnvmcap"])
        assert int(sets[2]["unalloc_nvmset_cap"]) == int(controller["unvmcap"]) > 0
        names = ("/dev/nvme0n1", "/dev/nvme0n2", "/dev/nvme0n3")
        namespaces = [told(guest, f"id-ns {name}") for name in names]
        assert [one["nvmsetid"] for one in namespaces] == [1, 2, 3]
        assert [one["endgid"] for one in namespaces] == [1, 2, 3]
        guest.run(f"yes | head -c 1048576 | dd of={DISK} bs=64k oflag=direct conv=fsync")
        logs = [told(guest, f"endurance-log /dev/nvme0 --group-id={group}") for group in (1, 2)]
        assert [int(log["data_units_written"]) for log in logs] == [1, 0]
        assert [int(log["media_units_written"]) for log in logs] == [1, 0]
        assert int(logs[0]["host_write_cmds"]) > 0
        made = guest.run(
            "nvme create-ns /dev/nvme0 --nsze=2048 --ncap=2048 --flbas=0 --nmic=1 --nvmset-id=3"
        )
        assert "nsid:4" in made
        output, status = guest.tried(
            "nvme create-ns /dev/nvme0 --nsze=2048 --ncap=2048 --flbas=0 --nvmset-id=1"
        )
        assert status != 0
        assert "Insufficient Capacity" in output


def test_nvme_cli_turns_windows(guest: Guest) -> None:
    """Predictable latency mode of one set, its window and its log; another set has none."""
    windows = {"deterministic_ms": 1e6, "non_deterministic_ms": 40}
    drive = {
        "chip.geometry.pages_per_block": 16,
        "gc.background_free_blocks": 8,
        "namespace": [{"dies": 2, "windows": windows}, {"dies": 2}],
    }
    feature = "nvme set-feature /dev/nvme0 --feature-id"
    with (
        lab.serve("tiny", set=drive, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        guest.run("while [ ! -b /dev/nvme0n2 ]; do sleep 0.1; done")
        assert told(guest, "id-ctrl /dev/nvme0")["ctratt"] >> 5 & 1 == 1
        log = told(guest, "predictable-lat-log /dev/nvme0 --nvmset-id=1")
        assert (int(log["status"]), int(log["dtwin_time_maximum"])) == (0, 1_000_000)
        guest.run("head -c 512 /dev/zero >thresholds")
        asked = "--cdw12=1 --data-len=512 --data=thresholds"
        guest.run(f"{feature}=0x13 --value=1 {asked}")
        got = guest.run("nvme get-feature /dev/nvme0 --feature-id=0x13 --cdw11=1")
        assert "value:0x00000001" in got
        guest.run(f"{feature}=0x14 --value=1 --cdw12=1")
        guest.run(f"dd if={DISK} of=/dev/null bs=64k count=64 iflag=direct")
        log = told(guest, "predictable-lat-log /dev/nvme0 --nvmset-id=1")
        assert int(log["status"]) == 1
        assert 0 < int(log["dtwin_writes_estimate"]) <= int(log["dtwin_writes_typical"])
        for command in (
            f"{feature}=0x13 --value=2 {asked}",
            "nvme predictable-lat-log /dev/nvme0 --nvmset-id=2",
        ):
            output, status = guest.tried(command)
            assert status != 0
            assert "Invalid Field" in output
