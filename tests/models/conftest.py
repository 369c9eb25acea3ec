import pytest

from tmas_graph.models import retrying


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries don't wait."""
    monkeypatch.setattr(retrying, "backoff", lambda attempt: 0.0)
