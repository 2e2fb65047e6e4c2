"""Computes the metadata that depends on where Holdfast is built: dependencies, URLs and the README of the package index.

In a checkout, ``holdfast-models`` is not taken from an index but from this repository, so that ``pip install .`` works. A source
distribution has no folder ``packages``, so a wheel built from it requires the published ``holdfast-models``. A release sets
``HOLDFAST_RELEASE=1``, because the metadata of the source distribution itself are computed in a checkout.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

MODELS = "holdfast-models"
IMAGE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)([^)]*)\)\n*")
"""A Markdown image in this repository."""
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#]*)(#[^)]*)?\)")
"""A Markdown link to a file of this repository."""


class Metadata(MetadataHookInterface):
    """Sets the dynamic metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies, the README and, once the repository is public, the URLs."""
        root, address = Path(self.root), str(self.config["repository"]).rstrip("/")
        models = root / "packages" / "models"
        local = (models / "pyproject.toml").is_file() and not os.environ.get("HOLDFAST_RELEASE")
        metadata["dependencies"] = [
            f"{MODELS} @ {models.as_uri()}" if local and each.startswith(MODELS) else each for each in self.config["dependencies"]
        ]
        text = (root / "README.md").read_text("utf-8")
        if self.config["mcp-name"]:
            text += f"\n<!-- mcp-name: {self.config['mcp-name']} -->\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, address)}
        if address:
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{address}/tree/main/docs",
                "Changelog": f"{address}/blob/main/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }


def with_absolute_links(text: str, address: str) -> str:
    """Return a README whose links work outside the repository. Without an address, links to files become plain text and images go."""
    text = IMAGE.sub(lambda image: image[0].replace(image[1], f"{address}/raw/main/{image[1]}") if address else "", text)
    return LINK.sub(lambda link: f"[{link[1]}]({address}/blob/main/{link[2]}{link[3] or ''})" if address else link[1], text)
