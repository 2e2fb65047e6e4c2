"""mem0 sends usage data unless this is set before it is imported."""

import os

os.environ["MEM0_TELEMETRY"] = "False"
