"""Run the ``holdfast`` executable with ``python -m holdfast``."""

from holdfast.cli import main

main()
