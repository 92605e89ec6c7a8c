"""``python -m nandlab``: the command line."""

from nandlab.cli import main

main()
