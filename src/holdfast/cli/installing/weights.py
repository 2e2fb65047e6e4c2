"""Download the weights that the configured models need, so that the first session of an assistant has them."""

from holdfast.cli.console import note, say
from holdfast.cli.options import Flags
from holdfast.cli.progress import Progress
from holdfast.config.folders import models_directory
from holdfast.config.opening import make_preset
from holdfast.config.settings import Settings
from holdfast.errors import ModelError
from holdfast.models.local import registry
from holdfast.models.local.weights import locate, pull


def fetch_missing(flags: Flags, settings: Settings) -> list[str]:
    """Download missing weights and return the names of their models.

    A failure is only a warning, because search by words still works.
    """
    preset = make_preset(settings)
    names = (settings.embedder or preset.embedder or registry.DEFAULT_MODEL, settings.reader, settings.reranker)
    fetched: list[str] = []
    for name in names:
        spec = registry.MODELS.get(name) or registry.READERS.get(name) or registry.RERANKERS.get(name)
        if spec is None or _is_there(spec):
            continue
        say(f"Downloading the weights of {name} ({spec.size / 1e6:.0f} MB, verified by hash).", as_json=flags.json)
        progress = Progress("downloading", unit=1e6, quiet=flags.json)
        try:
            pull(spec, models_directory(), progress=progress)
            fetched.append(name)
        except ModelError as error:
            note(f"{error} Until then, {name} is not used.", as_json=flags.json)
        finally:
            progress.finish()
    return fetched


def _is_there(spec: registry.Spec) -> bool:
    try:
        locate(spec, models_directory())
    except ModelError:
        return False
    return True
