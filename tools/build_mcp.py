"""Build the files with which MCP clients install Holdfast: a bundle (.mcpb) and the entry of a registry (server.json).

    python tools/build_mcp.py dist [--name io.github.OWNER/holdfast]

The folder must contain the wheels of ``tools/build_dist.py``. The bundle contains these wheels and needs uv, which MCP hosts
provide. The name in the registry must be in a namespace that the publisher owns. The default name is ``mcp-name`` in
pyproject.toml. Without a name, server.json is not written.
"""

import argparse
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MANIFEST_VERSION = "0.4"
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
"""The identifier of the registry format. Each entry must contain it."""
DESCRIPTION = "Persistent memory for AI assistants: offline, in one file, and able to forget."
PROJECT = """\
[project]
name = "holdfast-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["holdfast-memory[mcp]=={version}"]

[tool.uv]
package = false
find-links = ["wheels"]
"""
PROGRAM = '''\
"""Starts the MCP server of Holdfast."""

from holdfast.cli import main

main()
'''
SETTINGS = {
    "HOLDFAST_HOME": ("home", "string", "Data folder", "Where the memory is stored. Default: the data folder of your system.", False),
    "HOLDFAST_KEY": ("key", "string", "Encryption key", "Encrypts a new store, or opens an encrypted one.", True),
    "HOLDFAST_CHAT": ("chat", "string", "Chat model", "A model that extracts memories, such as ollama:llama3.2. Default: none.", False),
    "HOLDFAST_CHAT_KEY": ("chat_key", "string", "API key", "The key for the chat model.", True),
}  # fmt: skip
"""The settings that an MCP host asks for: name, type, title, description, and whether the value is a secret."""


def versions() -> tuple[str, str]:
    """Return the version of Holdfast and the requirement of the extra ``mcp``."""
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src" / "holdfast" / "version.py").read_text("utf-8"))
    assert version is not None
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (requirement,) = extras["mcp"]
    return version[1], str(requirement)


def manifest() -> dict[str, Any]:
    """Return the manifest of the bundle."""
    # Without a default, a host would pass the text ${user_config.key} for a setting that is left out.
    user = {"type": "string", "title": "Your name", "description": "Whose memory it is.", "required": True}
    asked = {
        name: {"type": kind, "title": title, "description": text, "required": False, "sensitive": secret, "default": ""}
        for name, kind, title, text, secret in SETTINGS.values()
    }
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": "holdfast",
        "display_name": "Holdfast",
        "version": versions()[0],
        "description": DESCRIPTION,
        "author": {"name": "The Holdfast contributors"},
        "license": "Apache-2.0",
        "keywords": ["memory", "recall", "offline"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py", "mcp", "--user", "${user_config.user}"],
                "env": {variable: f"${{user_config.{name}}}" for variable, (name, *_) in SETTINGS.items()},
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
        "user_config": {"user": user, **asked},
    }


def server_json(name: str) -> dict[str, Any]:
    """Return the entry for a registry of MCP servers. The entry runs ``uvx --with MCP holdfast-memory mcp --user USER``."""
    version, mcp = versions()
    user = {"description": "Whose memory it is.", "format": "string", "isRequired": True}
    variables = [
        {"name": variable, "description": text, "format": "string", "isSecret": secret}
        for variable, (_, _, _, text, secret) in SETTINGS.items()
    ]
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": name,
        "title": "Holdfast",
        "description": DESCRIPTION,
        "version": version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "holdfast-memory",
                "version": version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "runtimeArguments": [{"type": "named", "name": "--with", "value": mcp}],
                "packageArguments": [
                    {"type": "positional", "value": "mcp"},
                    {"type": "named", "name": "--user", "value": "{user}", "variables": {"user": user}},
                ],
                "environmentVariables": variables,
            }
        ],
    }


def bundle(folder: Path) -> Path:
    """Write a bundle with the wheels of a folder, and return its path."""
    version = versions()[0]
    wheels = [path for path in folder.glob("holdfast_*.whl") if "models" not in path.name or not path.name.endswith("-any.whl")]
    if len(wheels) != 2:
        sys.exit(f"{folder} must contain the wheels of tools/build_dist.py.")
    target = folder / f"holdfast-{version}.mcpb"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest(), indent=2))
        archive.writestr("pyproject.toml", PROJECT.format(version=version))
        archive.writestr("server.py", PROGRAM)
        archive.write(ROOT / "LICENSE", "LICENSE")
        for wheel in wheels:
            archive.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
    return target


def _registry_name() -> str:
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    return str(hooks["custom"]["mcp-name"])


def main() -> None:
    """Write the files into the folder given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default=_registry_name(), help="the name in the registry, such as io.github.OWNER/holdfast")
    given = parser.parse_args()
    written = [bundle(given.folder)]
    if given.name:
        (given.folder / "server.json").write_text(json.dumps(server_json(given.name), indent=2) + "\n", "utf-8")
        written.append(given.folder / "server.json")
    for path in written:
        sys.stdout.write(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}\n")


if __name__ == "__main__":
    main()
