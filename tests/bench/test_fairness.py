"""The rounds of ``bench fairness`` that count, on a machine whose host takes CPU time."""

from pathlib import Path

from holdfast_bench.server.fairness import Times, least_disturbed
from holdfast_bench.server.machine import stolen_time


def stat(path: Path, *, used: int, idle: int, stolen: int) -> Path:
    """Write CPU times as Linux does."""
    path.write_text(f"cpu  {used} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", "ascii")
    return path


def test_the_stolen_share_is_a_share_of_the_time_that_the_machine_wanted(tmp_path: Path) -> None:
    path = stat(tmp_path / "stat", used=100, idle=1000, stolen=10)
    with stolen_time(path) as stolen:
        stat(path, used=160, idle=9000, stolen=30)
    assert stolen.share == 0.25


def test_no_time_counts_as_stolen_where_the_system_does_not_report_it(tmp_path: Path) -> None:
    with stolen_time(tmp_path / "missing") as stolen:
        pass
    assert stolen.share == 0.0


def test_rounds_with_stolen_time_are_played_again(tmp_path: Path) -> None:
    shares, played = [0, 60, 0, 30, 0, 0], list[int]()
    path = stat(tmp_path / "stat", used=0, idle=0, stolen=0)

    def play(quiet: Times, attacked: Times) -> None:
        share = shares[len(played)]
        played.append(share)
        quiet.seconds["add"].append(share)
        attacked.seconds["add"].append(share)
        used, stolen = (int(path.read_text("ascii").split()[place]) for place in (1, 8))
        stat(path, used=used + 100 - share, idle=0, stolen=stolen + share)

    quiet, attacked, worst = least_disturbed(play, path)
    assert played == [0, 60, 0, 30, 0]
    assert quiet.seconds["add"] == attacked.seconds["add"] == [0, 0, 0]
    assert worst == 0.0


def test_the_worst_share_is_reported_if_every_round_was_disturbed(tmp_path: Path) -> None:
    path = stat(tmp_path / "stat", used=0, idle=0, stolen=0)
    played = list[tuple[Times, Times]]()

    def play(quiet: Times, attacked: Times) -> None:
        played.append((quiet, attacked))
        used, stolen = (int(path.read_text("ascii").split()[place]) for place in (1, 8))
        stat(path, used=used + 80, idle=0, stolen=stolen + 20)

    assert least_disturbed(play, path)[2] == 0.2
    assert len(played) == 12
