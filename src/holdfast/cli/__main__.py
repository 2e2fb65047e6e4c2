"""``python -m holdfast.cli`` is the ``holdfast`` executable."""

from holdfast.cli import main

main()
