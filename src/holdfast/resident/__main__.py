"""Run the resident process: ``python -m holdfast.resident``."""

from holdfast.resident.process import main

main()
