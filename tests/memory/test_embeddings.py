import asyncio
import sys
from collections.abc import Sequence
from math import isclose, sqrt
from pathlib import Path
from typing import Any

import pytest
from embedding_server import serving

from tmas_graph.errors import EndpointDown, MissingExtra, RequestRefused, StorageError
from tmas_graph.memory.embeddings import DIMENSION, Embedder, Hashing, Remembered, embed
from tmas_graph.memory.sentence_model import SentenceModel
from tmas_graph.memory.served_embeddings import ServedEmbeddings

pytestmark = pytest.mark.anyio


def length(vector: Sequence[float]) -> float:
    return sqrt(sum(x * x for x in vector))


def likeness(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_are_unit_and_equal_for_equal_texts() -> None:
    first, second, third = embed(["T(2) = 3 holds", "something else", "T(2) = 3 holds"])
    assert first == third != second
    assert len(first) == DIMENSION
    assert isclose(length(first), 1.0)


def test_a_vector_does_not_depend_on_its_companions() -> None:
    assert embed(["a b c"]) == embed(["x y", "a b c"])[1:]


def test_vectors_are_those_that_stores_hold() -> None:
    [vector] = embed(["n is odd"])
    rest = {124: -1, 136: 1, 325: -1, 573: 1, 651: 1, 685: -1, 899: -1, 956: -1}
    weights = {87: -3, 515: 3, **rest}
    assert {place: x for place, x in enumerate(vector) if x} == {
        place: weight / sqrt(26) for place, weight in weights.items()
    }


def test_who_changes_a_vector_changes_its_own_alone() -> None:
    [vector] = embed(["a text that is remembered"])
    vector[:] = [0.0] * DIMENSION
    assert isclose(length(embed(["a text that is remembered"])[0]), 1.0)


def test_more_texts_than_are_remembered_have_their_vectors() -> None:
    texts = [f"x = {n}" for n in range(2100)]
    first, *_, last = embed(texts)
    assert (embed(texts[:1]), embed(texts[-1:])) == ([first], [last])


def test_no_texts_have_no_vectors_and_an_empty_text_has_one() -> None:
    assert embed([]) == []
    assert len(embed([""])[0]) == DIMENSION


def test_other_words_for_the_same_are_nearer_than_something_else() -> None:
    one, other, else_ = embed(
        ["p divides a + 1", "a + 1 is a multiple of p", "the graph has a Hamiltonian cycle"]
    )
    assert likeness(one, other) > likeness(one, else_)


async def test_hashing_is_an_embedder() -> None:
    embedder: Embedder = Hashing()
    assert await embedder.embed(["x"]) == embed(["x"])
    assert embedder.dimension == DIMENSION


async def test_each_text_is_asked_for_once_in_batches() -> None:
    asked: list[list[str]] = []

    async def ask(texts: Sequence[str]) -> list[list[float]]:
        asked.append(list(texts))
        return [[3.0 * len(text), 4.0 * len(text)] for text in texts]

    remembered = Remembered(ask, batch=2)
    assert await remembered.embed(["a", "bb", "a", "ccc"]) == [[0.6, 0.8]] * 4
    assert await remembered.embed(["ccc", "d"]) == [[0.6, 0.8]] * 2
    assert asked == [["a", "bb"], ["ccc"], ["d"]]


async def test_only_the_latest_vectors_are_remembered() -> None:
    asked: list[str] = []

    async def ask(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0] for _ in texts]

    remembered = Remembered(ask, batch=8, kept=2)
    await remembered.embed(["a", "b"])
    await remembered.embed(["a"])
    await remembered.embed(["c"])
    await remembered.embed(["a", "b"])
    assert asked == ["a", "b", "c", "b"]


async def test_an_endpoint_is_asked_in_batches_and_vectors_find_their_texts() -> None:
    async with serving() as server:
        embedder: Embedder = ServedEmbeddings(server.base_url, "m", key="secret", batch=2)
        vectors = await embedder.embed(["a", "", "ccc", "a"])
    assert [body["input"] for body in server.bodies] == [["a", " "], ["ccc"]]
    assert server.bodies[0]["model"] == "m"
    assert set(server.keys) == {"Bearer secret"}
    assert vectors[0] == vectors[3] != vectors[2]
    assert isclose(vectors[2][0] / vectors[2][1], 3.0)
    assert all(isclose(length(vector), 1.0) for vector in vectors)
    assert embedder.dimension == 2


async def test_a_busy_endpoint_is_asked_again() -> None:
    async with serving((503, {}), (429, {})) as server:
        await ServedEmbeddings(server.base_url, "m", pause_seconds=0.0).embed(["a"])
    assert len(server.bodies) == 3


async def test_an_endpoint_that_stays_busy_is_given_up() -> None:
    async with serving(*[(503, {"error": {"message": "loading"}})] * 9) as server:
        with pytest.raises(
            EndpointDown, match=r"/v1/embeddings: HTTP 503 \(loading\)\. It is busy"
        ):
            await ServedEmbeddings(server.base_url, "m", pause_seconds=0.0).embed(["a"])
    assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            (401, {"error": {"message": "no"}}),
            r"the key is refused .*\. Set TMAS_EMBEDDINGS__API_KEY\.$",
        ),
        ((404, {"error": {"message": "no model m"}}), "not found"),
        ((400, {"error": {"message": "maximum context length is 8 tokens"}}), "too long for m"),
        ((200, {"data": []}), "0 vectors for 1 texts"),
        ((200, {"other": 1}), "no vectors for 1 texts"),
        ((200, {"data": [{"index": 0}]}), "a row without its vector"),
        ((200, {"data": [{"index": 0, "embedding": []}]}), "an empty vector"),
        (
            (200, {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]}),
            r"/v1/embeddings: vectors that hold NaN or Infinity came from m\.",
        ),
        ((200, {"data": [{"index": 0, "embedding": [float("-inf")]}]}), "NaN or Infinity"),
    ],
)
async def test_an_endpoint_without_vectors_is_refused_at_once(
    answer: tuple[int, Any], said: str
) -> None:
    async with serving(answer) as server:
        with pytest.raises(RequestRefused, match=said):
            await ServedEmbeddings(server.base_url, "m").embed(["a"])
    assert len(server.bodies) == 1


async def test_a_width_that_changes_is_refused() -> None:
    async with serving() as server:
        embedder = ServedEmbeddings(server.base_url, "m")
        await embedder.embed(["a"])
        server.answers = [(200, {"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]})]
        with pytest.raises(RequestRefused, match=r"vectors of widths \[2, 3\]"):
            await embedder.embed(["b"])


async def test_an_endpoint_that_nothing_answers_at_is_said() -> None:
    async with serving() as server:
        base_url = server.base_url
    with pytest.raises(EndpointDown, match=r"it can't be reached .*Start the server"):
        await ServedEmbeddings(base_url, "m", pause_seconds=0.0).embed(["a"])


def test_any_event_loop_may_ask() -> None:
    async def ask(embedder: ServedEmbeddings, text: str) -> None:
        await embedder.embed([text])

    async def both() -> None:
        async with serving() as server:
            embedder = ServedEmbeddings(server.base_url, "m")
            await embedder.embed(["a"])
            await asyncio.to_thread(asyncio.run, ask(embedder, "b"))

    asyncio.run(both())


async def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"embeddings: .*nowhere is no folder\. Give the folder"):
        await SentenceModel(tmp_path / "nowhere").embed(["a"])


async def test_the_extra_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r'pip install "tmas-graph\[embeddings\]"'):
        await SentenceModel(tmp_path).embed(["a"])


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a few random vectors, as sentence-transformers stores it."""
    pytest.importorskip("sentence_transformers", exc_type=ImportError)
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.models import StaticEmbedding  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415
    from tokenizers.models import WordLevel  # noqa: PLC0415
    from tokenizers.pre_tokenizers import Whitespace  # noqa: PLC0415

    words = ["[UNK]", "n", "is", "odd", "even", "prime"]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    folder = tmp_path_factory.mktemp("model")
    module = StaticEmbedding(tokenizer, embedding_dim=8)
    SentenceTransformer(modules=[module], device="cpu").save(str(folder))
    return folder


@pytest.mark.embeddings
@pytest.mark.filterwarnings("ignore")
async def test_a_local_model_gives_unit_vectors(model_folder: Path) -> None:
    embedder: Embedder = SentenceModel(model_folder)
    odd, even, again = await embedder.embed(["n is odd", "n is even", "n is odd"])
    assert odd == again != even
    assert isclose(length(odd), 1.0, rel_tol=1e-5)
    assert embedder.dimension == len(odd) == 8


@pytest.mark.embeddings
@pytest.mark.filterwarnings("ignore")
async def test_a_damaged_model_is_said(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", exc_type=ImportError)
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(StorageError, match=r"embeddings: the model in .* can't be loaded \("):
        await SentenceModel(tmp_path).embed(["a"])


async def test_what_is_on_its_way_is_not_asked_for_again_and_survives_who_gave_up() -> None:
    asked: list[list[str]] = []
    arrived, answer = asyncio.Event(), asyncio.Event()

    async def ask(texts: Sequence[str]) -> list[list[float]]:
        asked.append(list(texts))
        arrived.set()
        await answer.wait()
        return [[3.0, 4.0] for _ in texts]

    remembered = Remembered(ask, batch=8)
    first = asyncio.ensure_future(remembered.embed(["a", "b"]))
    await arrived.wait()
    arrived.clear()
    second = asyncio.ensure_future(remembered.embed(["b", "c"]))
    await arrived.wait()
    first.cancel()
    answer.set()
    assert await second == [pytest.approx([0.6, 0.8])] * 2
    assert asked == [["a", "b"], ["c"]]
    assert await remembered.embed(["b"]) == [pytest.approx([0.6, 0.8])]
    assert len(asked) == 2


async def test_who_waits_for_what_another_asked_for_is_told_that_it_failed() -> None:
    async def ask(texts: Sequence[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        raise EndpointDown("down")

    remembered = Remembered(ask, batch=8)
    both = [asyncio.ensure_future(remembered.embed(["a"])) for _ in range(2)]
    told = await asyncio.gather(*both, return_exceptions=True)
    assert [type(one) for one in told] == [EndpointDown] * 2
