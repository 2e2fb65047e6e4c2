"""Write the OpenAPI document of a server with the default settings, for the generator of the TypeScript client.

python tools/write_openapi.py clients/typescript/openapi.json
"""

import argparse
import json
import tempfile
from pathlib import Path

from holdfast.config.settings import Settings
from holdfast.server.app import make_app
from holdfast.server.tenants import open_pool


def main() -> None:
    """Write the document to the file given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    with (
        tempfile.TemporaryDirectory() as folder,
        open_pool(path=Path(folder) / "memory.db", embedder="none", worker="none") as pool,
    ):
        file.write_text(json.dumps(make_app(pool, Settings()).api.openapi(), indent=1), "utf-8")


if __name__ == "__main__":
    main()
