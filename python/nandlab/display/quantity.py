"""Quantities as text: three digits and a unit."""

_LATENCIES = (("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3), ("µs", 1.0), ("ns", 1e-3))
_ENERGIES = (("kJ", 1e9), ("J", 1e6), ("mJ", 1e3), ("µJ", 1.0))
_SIZES = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_COUNTS = (("G", 1e9), ("M", 1e6), ("k", 1e3))

_LEAST = 0.001
"""Smaller numbers are shown as "small" only: nobody reads 1.48e-07."""


def latency(us: float) -> str:
    """A latency given in microseconds."""
    return _scaled(us, _LATENCIES)


def latency_cell(us: float, digits: int) -> str:
    """The same with all of its digits, for columns."""
    return _scaled(us, _LATENCIES, digits)


def energy(uj: float) -> str:
    """An energy given in microjoules."""
    return _scaled(uj, _ENERGIES)


def size(size_bytes: float) -> str:
    """A size given in bytes, in powers of 1024."""
    return _scaled(size_bytes, _SIZES)


def count(number: float) -> str:
    """A count; exact below a thousand."""
    return _scaled(number, _COUNTS).replace(" ", "") if number >= 1000 else f"{number:g}"


def rate(per_s: float) -> str:
    """A rate: whole where it is large, three digits where it is small."""
    if 0 < per_s < _LEAST:
        return f"<{_LEAST}"
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:#.3g}".rstrip(".")


def mean(number: float) -> str:
    """A mean count, as a queue depth: a rate's digits without trailing zeros."""
    text = rate(number)
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(wall_s: float) -> str:
    """A span of time given in seconds."""
    return latency(wall_s * 1e6)


def _scaled(value: float, units: tuple[tuple[str, float], ...], digits: int | None = None) -> str:
    """The value in the largest unit that does not exceed it; trailing zeros only on request."""
    if value == 0:
        return "0"
    unit, least = next((pair for pair in units if value >= pair[1] * 0.9995), units[-1])
    scaled = value / least
    places = max((digits or 3) - len(str(int(scaled))), 0)
    text = f"{scaled:.{places}f}"
    if digits is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}"
