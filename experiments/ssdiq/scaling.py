"""The size of the drive: the same figures with a 64th and with a 16th of its pages in a block.

`python experiments/ssdiq/scaling.py` prints the table of README.md, in some minutes.
"""

from run import NAMES, SCALE, knee, percentile

SCALES = (SCALE, SCALE // 4)
ROWS = (
    ("cm7", 60),
    ("cm7", 300),
    ("wd", 30),
    ("p5520", 50),
    ("p5520", 110),
    ("max", 30),
    ("max", 110),
)


def line(what, unit, figures):
    """A row of the table: a figure at each scale."""
    return f"| {what} | " + " | ".join(f"{figure:,.0f}{unit}" for figure in figures) + " |"


if __name__ == "__main__":
    for name, offered in ROWS:
        for percent in (50, 99):
            figures = [percentile(name, offered, percent, scale) for scale in SCALES]
            print(line(f"{NAMES[name]}, {offered},000 a second, p{percent}", " us", figures))
    for name in ("cm7", "wd", "p5520", "max"):
        print(line(f"{NAMES[name]}, most writes", "", [knee(name, scale) for scale in SCALES]))
