"""Join the parts of each network that ``train.py`` wrote, and write the tokenizer next to it."""

import argparse
from pathlib import Path

from tokens import read_vocabulary, tokenizer


def main() -> None:
    """Join the part files of each network in a folder, and write its tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder with large.onnx.0, small.onnx.0, ..., vocab.txt")
    parser.add_argument("into", type=Path)
    options = parser.parse_args()
    for first in sorted(options.results.glob("*.onnx.0")):
        folder = options.into / first.name.removesuffix(".onnx.0")
        folder.mkdir(parents=True, exist_ok=True)
        parts = sorted(options.results.glob(f"{first.name[:-1]}[0-9]"))
        (folder / "model.onnx").write_bytes(b"".join(part.read_bytes() for part in parts))
        vocabulary = options.results / "vocab.txt"
        (folder / "vocab.txt").write_bytes(vocabulary.read_bytes())
        tokenizer(read_vocabulary(vocabulary)).save(str(folder / "tokenizer.json"))
        print(f"{folder}: {(folder / 'model.onnx').stat().st_size / 1e6:.1f} MB of {len(parts)} parts")


if __name__ == "__main__":
    main()
