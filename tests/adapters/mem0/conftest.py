"""Set a variable before mem0 is imported, because mem0 otherwise sends usage data."""

import os

os.environ["MEM0_TELEMETRY"] = "False"
