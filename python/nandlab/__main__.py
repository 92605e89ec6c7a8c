"""``python -m nandlab``: the command line."""

from nandlab.cli.commands import main

main()
