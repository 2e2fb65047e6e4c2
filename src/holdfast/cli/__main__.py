"""Run the ``holdfast`` executable with ``python -m holdfast.cli``."""

from holdfast.cli import main

main()
