"""Engines for other machines: the module for browsers, and checks that the host compiles.

python tools/engines.py         makes web/wasm/nandlab.wasm
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

WASM = "wasm32-unknown-unknown"

TARGETS = {
    WASM: [],
    "x86_64-pc-windows-gnu": [],
    "aarch64-apple-darwin": ["--features", "device"],
}
"""Targets of the host, with its features there: sockets of Unix where there are any, and nowhere
zstd, whose C library needs a compiler for the target."""

MODULE = ROOT / "web/wasm/nandlab.wasm"


def missing(target: str) -> str | None:
    """Reason why nothing can be compiled for a target here; None where it can."""
    sysroot = _output(["rustc", "--print", "sysroot"])
    if not (Path(sysroot) / "lib/rustlib" / target).is_dir():
        return f"Rust lacks the target {target}: rustup target add {target}"
    return None


def check(target: str) -> None:
    """Checks that the host compiles for a target."""
    packages = ["--package", "nandlab-host", "--lib", "--no-default-features"]
    command = ["cargo", "check", "--quiet", *packages, *TARGETS[target], "--target", target]
    subprocess.run(command, cwd=ROOT, check=True)


def wasm(profile: str) -> Path:
    """Compiles the module for browsers with a profile of Cargo.toml."""
    command = ["cargo", "build", "--quiet", "--package", "nandlab-wasm", "--target", WASM]
    subprocess.run([*command, "--profile", profile], cwd=ROOT, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    target = json.loads(_output(metadata))["target_directory"]
    folder = "debug" if profile == "dev" else profile
    return Path(target) / WASM / folder / "nandlab_wasm.wasm"


def _output(command: list[str]) -> str:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> int:
    """Makes the module for browsers beside the page."""
    reason = missing(WASM)
    if reason is not None:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    shutil.copyfile(wasm("wasm"), MODULE)
    print(f"{MODULE.relative_to(ROOT)}: {MODULE.stat().st_size / 1e6:.1f} MB")
    print("the window without a server: python3 -m http.server --directory web")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
